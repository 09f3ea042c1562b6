import type { Blocker } from '../drain/blockers/blocker.ts';
import type { DrainCounts } from '../drain/drain-counter.ts';
import type { MaintenanceFailure, MaintenanceState } from '../request/words.ts';
import type { VmTrackingState } from '../vm/tracking.ts';
import type { VmStatus } from '../vm/vm-status.ts';

/** Why it does not go on as a whole: machines read the reason, people the message. */
export type Problem = { readonly reason: string; readonly message: string };

/** What there is to say of one maintenance at one moment. */
export type Report = {
  readonly state: MaintenanceState;
  /** The node carries its marks. */
  readonly held: boolean;
  readonly failure?: MaintenanceFailure;
  readonly problem?: Problem;
  /** Somebody removes the marks from the node, and they are put back: a sentence about it. */
  readonly contested?: string;
  /** The operator's own pod is left on the node: a sentence about it. */
  readonly stays?: string;
  readonly leaseErrors: number;
  /** Missing as long as the pods are not known. `total` has also those that may stay. */
  readonly pods?: DrainCounts & { readonly total: number };
  /** Pods that still have to go, sorted. */
  readonly waiting: readonly { readonly namespace: string; readonly name: string }[];
  /** Sorted, all of them: the served kinds bound their lists themselves. */
  readonly blockers: readonly Blocker[];
  /** Every VM that was to leave, those that have left included, sorted; missing where there was none. */
  readonly vms?: readonly VmStatus[];
  /** VMs that had left before what is remembered. */
  readonly vmsBefore?: VmTrackingState['before'];
  /** When it will begin, if it waits for that. */
  readonly startsAt?: Temporal.Instant;
  readonly drainStartedAt?: Temporal.Instant;
  readonly drainedAt?: Temporal.Instant;
  readonly estimatedEnd?: Temporal.Instant;
};

/** The text, and with it that somebody removes the marks, where somebody does. */
export const withContest = (text: string, { contested }: Pick<Report, 'contested'>): string =>
  contested === undefined ? text : `${text}; ${contested}`;

/** The text, and with it that the operator's own pod is left on the node, where it is. */
export const withStay = (text: string, { stays }: Pick<Report, 'stays'>): string => (stays === undefined ? text : `${text}; ${stays}`);
