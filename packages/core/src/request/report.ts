import type { Blocker } from '../drain/blockers/blocker.ts';
import type { DrainCounts } from '../drain/drain-counter.ts';
import type { VmTrackingState } from '../drain/vm/tracking.ts';
import type { VmStatus } from '../vm/vm-status.ts';
import type { MaintenanceFailure, MaintenanceState } from './words.ts';

/**
 * Reason why a maintenance as a whole does not go on: machines read the reason, people the message.
 */
export type Problem = { readonly reason: string; readonly message: string };

/** Report on one maintenance at one moment. */
export type Report = {
  readonly state: MaintenanceState;
  /** True if the node carries the marks of the request. */
  readonly held: boolean;
  readonly failure?: MaintenanceFailure;
  readonly problem?: Problem;
  /** Sentence that another party removes the marks from the node and the operator restores them. */
  readonly contested?: string;
  /** Sentence that the operator's own pod is left on the node. */
  readonly stays?: string;
  readonly leaseErrors: number;
  /**
   * Counts of pods; missing as long as the pods are not known. `total` includes the pods that may
   * stay.
   */
  readonly pods?: DrainCounts & { readonly total: number };
  /** Pods that still have to leave, sorted. */
  readonly waiting: readonly { readonly namespace: string; readonly name: string }[];
  /** All blockers, sorted: the served kinds bound their lists themselves. */
  readonly blockers: readonly Blocker[];
  /**
   * Every VM that was to leave, including those that have left, sorted; missing if there was none.
   */
  readonly vms?: readonly VmStatus[];
  /** VMs that had left before the memo begins. */
  readonly vmsBefore?: VmTrackingState['before'];
  /** Time of its start, if the request waits for that. */
  readonly startsAt?: Temporal.Instant;
  readonly drainStartedAt?: Temporal.Instant;
  readonly drainedAt?: Temporal.Instant;
  readonly estimatedEnd?: Temporal.Instant;
};

/** Appends the sentence on removed marks to the text, if there is one. */
export function withContest(text: string, { contested }: Pick<Report, 'contested'>): string {
  return contested === undefined ? text : `${text}; ${contested}`;
}

/** Appends the sentence on the operator's own pod to the text, if there is one. */
export function withStay(text: string, { stays }: Pick<Report, 'stays'>): string {
  return stays === undefined ? text : `${text}; ${stays}`;
}
