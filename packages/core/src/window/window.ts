import type { JsonObject } from '@drydock/apimachinery';
import { type LabelSelector, type Labels, matches } from '@drydock/apimachinery';
import type { EventKind } from '../event-kind.ts';

/** Collection path. */
export const windowsPath = '/apis/drydock.dev/v1alpha1/maintenancewindows';

/** Returns the text for a maintenance or a plan that does not begin because windows are unknown. */
export function windowsUnknown(why: string): string {
  return `not all maintenance windows are known: ${why}`;
}

/** A stretch of time: `from` belongs to it, `to` does not. */
export type Span = { readonly from: Temporal.Instant; readonly to: Temporal.Instant };

/** An opening of a window: recurring, each time for this many seconds of real time; or once. */
export type Opening = { readonly cron: string; readonly seconds: number } | Span;

/** Kinds that windows can be for. The kinds of the replaced operators begin at once, as always. */
export type WindowedKind = 'Maintenance' | 'MachineMaintenance' | 'MaintenancePlan';

/** Effect of the end of a window on a running drain. */
export type AtEnd = 'Continue' | 'Pause' | 'Release';

/** Behaviour of a maintenance for which no opening before its deadline is long enough. */
export type Missed = 'BeforeDeadline' | 'EvenInFreeze' | 'Wait';

/** A MaintenanceWindow in the form that the core uses. */
export type MaintenanceWindow = {
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** IANA name of the time zone in which cron expressions are evaluated. */
  readonly timeZone: string;
  /** Selector of the nodes that it is for; all if left out. */
  readonly nodeSelector?: LabelSelector;
  readonly kinds: readonly WindowedKind[];
  /**
   * Kinds of events, for machine maintenances: only those with an event of one of these kinds; all
   * if left out.
   */
  readonly eventKinds?: readonly EventKind[];
  readonly openings: readonly Opening[];
  readonly freezes: readonly (Span & { readonly reason?: string })[];
  readonly atEnd: AtEnd;
  readonly missed: Missed;
  /** Seconds that a maintenance takes here; the observed durations if left out. */
  readonly expectedSeconds?: number;
  /** Error in the window. An invalid window is never open: nothing starts by mistake. */
  readonly problem?: string;
  readonly status: JsonObject;
};

/** Subject that a window may apply to. */
export type WindowSubject = {
  readonly kind: WindowedKind;
  readonly labels: Labels;
  readonly eventKinds?: readonly EventKind[];
};

/**
 * Reports whether the window is for the kind. The nodes of a plan are held by Maintenances: a
 * window for those is one for plans too.
 */
function isFor({ kinds }: MaintenanceWindow, kind: WindowedKind): boolean {
  return kinds.includes(kind) || (kind === 'MaintenancePlan' && kinds.includes('Maintenance'));
}

/** Reports whether the window applies. */
export function appliesTo(
  window: MaintenanceWindow,
  { kind, labels, eventKinds }: WindowSubject,
): boolean {
  return (
    isFor(window, kind) &&
    (window.nodeSelector === undefined || matches(window.nodeSelector, labels)) &&
    (kind !== 'MachineMaintenance' ||
      window.eventKinds === undefined ||
      (eventKinds ?? []).some(eventKind => window.eventKinds?.includes(eventKind)))
  );
}
