import type { JsonObject } from '@drydock/apimachinery';
import { readMaintenanceWindow } from '@drydock/apis';
import { planApi } from '@drydock/core/plan';

/**
 * Windows of kured and of system-upgrade-controller, which parse them with the same code
 * (timewindow of kured): days, and two times of day.
 */

/** Times as written there. The caller has set defaults for missing fields. */
export type TimesOfDay = {
  readonly days: readonly string[];
  readonly start: string;
  readonly end: string;
  readonly timeZone: string;
};

export type ImportedWindow = {
  readonly window: JsonObject;
  /** Reason why the window never opens, or what needs a review. */
  readonly left?: string;
};

const weekdays = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const names = [
  'sunday',
  'monday',
  'tuesday',
  'wednesday',
  'thursday',
  'friday',
  'saturday',
] as const;

type Weekday = (typeof weekdays)[number];

/** Parses `su`, `sun` and `sunday` in any case, and the numbers from 0 for Sunday. */
function weekdayOf(day: string): Weekday | undefined {
  const word = day.trim().toLowerCase();
  if (/^\d+$/.test(word)) return weekdays[Number(word)];
  return weekdays[
    names.findIndex(name => word === name || word === name.slice(0, 2) || word === name.slice(0, 3))
  ];
}

const daySeconds = 86_400;

/**
 * Parses `21:00`, `9:00`, `21:00:30`, `21`, `9pm`, `09pm` and `09:30pm` to seconds after midnight.
 * Returns undefined for text that kured cannot parse either.
 */
function secondsOf(time: string): number | undefined {
  const [, hour = '', minute = '0', second = '0', half] =
    /^(\d{1,2})(?::(\d\d))?(?::(\d\d))?$/.exec(time) ??
    /^(\d{1,2})(?::(\d\d))?()(am|pm)$/.exec(time) ??
    [];
  const [hours, minutes, seconds] = [hour, minute, second || '0'].map(Number) as [
    number,
    number,
    number,
  ];
  if (hour === '' || minutes > 59 || seconds > 59 || hours > (half === undefined ? 23 : 12))
    return undefined;
  const ofDay = half === undefined ? hours : (hours % 12) + (half === 'pm' ? 12 : 0);
  return ofDay * 3600 + minutes * 60 + seconds;
}

/** Start of the last minute of the day, which stands for midnight in kured's windows. */
const lastMinute = daySeconds - 60;

type Piece = readonly [from: number, to: number];

/**
 * Returns the parts of a day in which the window is open: kured checks the current day. A window
 * over midnight is open in the morning and in the evening of its days, not in the morning after
 * them. A window whose start equals its end is open for a moment, for which a minute stands.
 */
function piecesOf(start: number, end: number): readonly Piece[] {
  const minute = (seconds: number): number => Math.ceil(seconds / 60) * 60;
  const to = end >= lastMinute ? daySeconds : Math.floor(end / 60) * 60;
  if (start <= end) {
    const from = Math.min(minute(start), daySeconds - 60);
    return [[from, Math.max(to, from + 60)]];
  }
  const pieces: readonly Piece[] = [
    [0, to],
    [minute(start), daySeconds],
  ];
  return pieces.filter(([from, until]) => from < until);
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}

function durationText(seconds: number): string {
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds / 60}m`;
}

function openingOf(days: readonly Weekday[], [from, to]: Piece): JsonObject {
  return {
    weekdays: [...days],
    start: `${two(Math.floor(from / 3600))}:${two(Math.floor(from / 60) % 60)}`,
    duration: durationText(to - from),
  };
}

/** Past opening: with it, a window applies, and never opens. */
const never: JsonObject = { from: '2000-01-01', to: '2000-01-02' };

function windowWith(name: string, timeZone: string, openings: readonly JsonObject[]): JsonObject {
  return {
    apiVersion: planApi,
    kind: 'MaintenanceWindow',
    metadata: { name },
    spec: {
      kinds: ['MaintenancePlan'],
      ...(timeZone !== '' && { timeZone }),
      openings: [...openings],
    },
  };
}

/**
 * Returns a MaintenanceWindow for plans with the same open times. Unreadable or missing times give
 * a window that never opens, and are reported: a plan without a window would start at any time.
 */
export function windowOf(name: string, { days, start, end, timeZone }: TimesOfDay): ImportedWindow {
  const closed = (why: string): ImportedWindow => ({
    window: windowWith(name, '', [never]),
    left: `${why}: MaintenanceWindow ${name} never opens until you write its openings`,
  });
  const named = days.map(weekdayOf);
  const [from, to] = [secondsOf(start), secondsOf(end)];
  const wrong = days.find((_day, index) => named[index] === undefined);
  if (wrong !== undefined) return closed(`the day "${wrong}" cannot be read`);
  if (named.length === 0) return closed('no day is named, and it is never open there');
  if (from === undefined || to === undefined)
    return closed(`the time "${from === undefined ? start : end}" cannot be read`);
  const open = weekdays.filter(day => named.includes(day));
  const window = windowWith(
    name,
    timeZone,
    piecesOf(from, to).map(piece => openingOf(open, piece)),
  );
  const { problem } = readMaintenanceWindow(window);
  if (problem !== undefined) return closed(problem);
  return from === to
    ? {
        window,
        left: `it begins when it ends: MaintenanceWindow ${name} is open for a minute, and nothing is done in that`,
      }
    : { window };
}
