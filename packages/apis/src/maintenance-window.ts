import type { LabelSelector } from '@drydock/apimachinery';
import { isObject, type JsonObject, readTime, timeText } from '@drydock/apimachinery';
import type { MaintenanceWindow, Opening, Span } from '@drydock/core/window';
import {
  calendarOf,
  cronProblem,
  maxOpening,
  minGap,
  nextSpans,
  openNow,
} from '@drydock/core/window';
import { type NewCondition, type RawMetadata, withTransitions } from './read.ts';
import type {
  MaintenanceWindowSpec,
  MaintenanceWindowStatus,
} from './schema/maintenance-window.ts';

/** drydock.dev/v1alpha1 MaintenanceWindow. */

type Raw = {
  readonly metadata: RawMetadata;
  readonly spec?: MaintenanceWindowSpec;
  readonly status?: MaintenanceWindowStatus;
};

/** An error for a field of a window that is invalid: the message names the field. */
class Unreadable extends Error {}

/** Pattern of times, as in the CRD. */
const momentForm = /^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].*)?$/;

/** Seconds by which the next start comes earlier on the day on which clocks go forward. */
const clockChange = 3600;

const duration = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?$/;

function secondsOf(text: string | undefined, field: string): number {
  const [, hours = 0, minutes = 0, seconds = 0] = duration.exec(text ?? '') ?? [];
  const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds);
  if (total <= 0)
    throw new Unreadable(
      `${field}: Invalid value: "${text ?? ''}": expected hours, minutes and seconds, for example 1h30m`,
    );
  return total;
}

/**
 * Reads a time, by the clocks of the zone if the text has no offset. A time that a day has twice is
 * the first one, one that it does not have is the one after the change.
 */
function momentOf(text: string | undefined, timeZone: string, field: string): Temporal.Instant {
  try {
    // Temporal accepts years of more than four digits, which other programs do not.
    if (!momentForm.test(text ?? '')) throw new RangeError('not a time of the years 0001 to 9999');
    if (/(Z|[+-]\d\d:?\d\d)$/i.test(text ?? '')) return Temporal.Instant.from(text ?? '');
    return Temporal.PlainDateTime.from(text ?? '')
      .toZonedDateTime(timeZone)
      .toInstant();
  } catch (error) {
    throw new Unreadable(
      `${field}: Invalid value: "${text ?? ''}": expected a time as 2026-12-24T18:00 or 2026-12-24T18:00:00+01:00, or a date`,
      {
        cause: error,
      },
    );
  }
}

function spanOf(
  { from, to }: { readonly from?: string | undefined; readonly to?: string | undefined },
  timeZone: string,
  field: string,
): Span {
  const span = {
    from: momentOf(from, timeZone, `${field}.from`),
    to: momentOf(to, timeZone, `${field}.to`),
  };
  if (span.from.epochMilliseconds >= span.to.epochMilliseconds)
    throw new Unreadable(`${field}: to is not after from`);
  return span;
}

type RawOpening = NonNullable<MaintenanceWindowSpec['openings']>[number];

function cronOf({ cron, weekdays = [], start = '' }: RawOpening): string {
  if (cron !== undefined) return cron;
  const [hour, minute] = start.split(':').map(Number);
  return `${minute} ${hour} * * ${weekdays.map(day => day.toUpperCase()).join(',')}`;
}

function openingOf(raw: RawOpening, timeZone: string, index: number): Opening {
  const field = `spec.openings[${index}]`;
  if (raw.from !== undefined) return spanOf(raw, timeZone, field);
  const cron = cronOf(raw);
  const problem = cronProblem(cron, timeZone);
  if (problem !== undefined) throw new Unreadable(`${field}: ${problem}`);
  const seconds = secondsOf(raw.duration, `${field}.duration`);
  if (seconds > maxOpening)
    throw new Unreadable(`${field}.duration is "${raw.duration ?? ''}"; a week is the most`);
  const gap = minGap(cron, timeZone);
  if (seconds > gap + clockChange)
    throw new Unreadable(
      `${field}.duration is "${raw.duration ?? ''}", but it begins again after ${gap} s: make it no longer than that, or have it begin less often`,
    );
  return { cron, seconds };
}

function checkZone(timeZone: string): void {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(timeZone);
  } catch (error) {
    throw new Unreadable(
      `spec.timeZone: Invalid value: "${timeZone}": expected the IANA name of a time zone, for example Europe/Berlin`,
      {
        cause: error,
      },
    );
  }
}

type Times = Pick<MaintenanceWindow, 'openings' | 'freezes' | 'expectedSeconds' | 'problem'>;

/**
 * Reads each part separately: a valid freeze counts even if another part is invalid, because it
 * forbids.
 */
function timesOf(spec: MaintenanceWindowSpec): Times {
  const { timeZone = 'UTC', openings = [], freezes = [], expectedDuration } = spec;
  const problems: string[] = [];
  const attempt = <T>(read: () => T): readonly T[] => {
    try {
      return [read()];
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      problems.push(error.message);
      return [];
    }
  };
  if (attempt(() => checkZone(timeZone)).length === 0)
    return { openings: [], freezes: [], problem: problems.join('; ') };
  const frozen = freezes.flatMap(({ reason, ...freeze }, index) =>
    attempt(() => ({
      ...spanOf(freeze, timeZone, `spec.freezes[${index}]`),
      ...(reason !== undefined && { reason }),
    })),
  );
  const open = openings.flatMap((raw, index) => attempt(() => openingOf(raw, timeZone, index)));
  const expected =
    expectedDuration === undefined
      ? []
      : attempt(() => secondsOf(expectedDuration, 'spec.expectedDuration'));
  return {
    openings: open,
    freezes: frozen,
    ...(expected[0] !== undefined && { expectedSeconds: expected[0] }),
    ...(problems.length > 0 && { problem: problems.join('; ') }),
  };
}

/** Reads a window. An invalid one applies and is never open: nothing begins by mistake. */
export function readMaintenanceWindow(raw: unknown): MaintenanceWindow {
  const { metadata, spec = {}, status } = raw as Raw;
  return {
    key: metadata.name,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    timeZone: spec.timeZone ?? 'UTC',
    kinds: spec.kinds ?? ['Maintenance', 'MachineMaintenance'],
    ...timesOf(spec),
    atEnd: spec.atEnd ?? 'Continue',
    missed: spec.missed ?? 'BeforeDeadline',
    status: isObject(status) ? status : {},
    ...(spec.nodeSelector && { nodeSelector: spec.nodeSelector as LabelSelector }),
    ...(spec.events && { eventKinds: spec.events }),
  };
}

/** Returns the status of a window at a moment, and when it will change. */
export function maintenanceWindowStatus(
  window: MaintenanceWindow,
  now: Temporal.Instant,
): { readonly status: JsonObject; readonly until?: Temporal.Instant } {
  const calendar = calendarOf([window]);
  const open = openNow(calendar, now);
  const [next] = calendar.always && window.freezes.length === 0 ? [] : nextSpans(calendar, now, 1);
  const stored = (window.status as MaintenanceWindowStatus).conditions;
  const condition: NewCondition = {
    type: 'Valid',
    status: window.problem === undefined ? 'True' : 'False',
    reason: window.problem === undefined ? 'Valid' : 'NotReadable',
    message:
      window.problem === undefined
        ? ''
        : `${window.problem}. Nothing begins in this window until that is fixed`,
  };
  const until = open === undefined ? next?.from : open.to;
  return {
    status: {
      observedGeneration: window.generation,
      open: open !== undefined,
      // The current opening is stored with its own beginning as long as that is known: otherwise
      // the status would change with every look.
      ...(next && {
        next: {
          startTime: timeText(open === undefined ? next.from : beginOf(window, now, next)),
          endTime: timeText(next.to),
        },
      }),
      conditions: withTransitions([condition], stored, window.generation, now),
    },
    ...(until && { until }),
  };
}

function beginOf(window: MaintenanceWindow, now: Temporal.Instant, next: Span): Temporal.Instant {
  const stored = (window.status as MaintenanceWindowStatus).next;
  if (
    readTime(stored?.endTime)?.epochMilliseconds ===
    Math.floor(next.to.epochMilliseconds / 1000) * 1000
  )
    return readTime(stored?.startTime) ?? now;
  return now;
}
