import type { EventKind } from '../event-kind.ts';
import type { JsonObject } from '../json.ts';
import { type LabelSelector, type Labels, matches } from '../pod/selector.ts';

/** Collection path. */
export const windowsPath = '/apis/drydock.dev/v1alpha1/maintenancewindows';

/** What is told of a maintenance or a plan that does not begin for that. */
export const windowsUnknown = (why: string): string => `not all maintenance windows are known: ${why}`;

/** A stretch of time: `from` belongs to it, `to` does not. */
export type Span = { readonly from: Temporal.Instant; readonly to: Temporal.Instant };

/** When a window is open: again and again, each time for so many seconds of real time; or once. */
export type Opening = { readonly cron: string; readonly seconds: number } | Span;

/** What windows can be for. The kinds of the replaced operators begin at once, as they always did. */
export type WindowedKind = 'Maintenance' | 'MachineMaintenance' | 'MaintenancePlan';

/** What becomes of a drain that is under way when the window ends. */
export type AtEnd = 'Continue' | 'Pause' | 'GiveBack';

/** What becomes of a maintenance that no opening before its deadline is long enough for. */
export type Missed = 'BeforeDeadline' | 'EvenInFreeze' | 'Wait';

/** A MaintenanceWindow as the core sees it. */
export type MaintenanceWindow = {
  readonly key: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation: number;
  /** IANA name. Cron expressions are read on the clocks of this zone. */
  readonly timeZone: string;
  /** Nodes that it is for; all when left out. */
  readonly nodeSelector?: LabelSelector;
  readonly kinds: readonly WindowedKind[];
  /** For machine maintenances: only those with an event of one of these kinds; all when left out. */
  readonly eventKinds?: readonly EventKind[];
  readonly openings: readonly Opening[];
  readonly freezes: readonly (Span & { readonly reason?: string })[];
  readonly atEnd: AtEnd;
  readonly missed: Missed;
  /** How long a maintenance takes here, in seconds; what has been seen so far when left out. */
  readonly expectedSeconds?: number;
  /** What is wrong with it. A window that cannot be read is never open: nothing starts by mistake. */
  readonly problem?: string;
  readonly status: JsonObject;
};

/** What a window is asked about. */
export type WindowSubject = { readonly kind: WindowedKind; readonly labels: Labels; readonly eventKinds?: readonly EventKind[] };

/** The nodes of a plan are held by Maintenances: a window for those is one for plans too. */
const isFor = ({ kinds }: MaintenanceWindow, kind: WindowedKind): boolean =>
  kinds.includes(kind) || (kind === 'MaintenancePlan' && kinds.includes('Maintenance'));

/** Whether the window has a say. */
export const appliesTo = (window: MaintenanceWindow, { kind, labels, eventKinds }: WindowSubject): boolean =>
  isFor(window, kind) &&
  (window.nodeSelector === undefined || matches(window.nodeSelector, labels)) &&
  (kind !== 'MachineMaintenance' ||
    window.eventKinds === undefined ||
    (eventKinds ?? []).some(eventKind => window.eventKinds?.includes(eventKind)));
