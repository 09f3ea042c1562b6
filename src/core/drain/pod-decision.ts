import type { BlockerInfo } from './blockers/blocker.ts';
import type { Budget } from './budgets/budget.ts';
import type { RequestOwner } from './responders/eviction-request.ts';

/** Nothing is asked for now. */
export type PodWait = {
  readonly verdict: 'wait';
  readonly blockerInfo?: BlockerInfo;
  readonly requeueAt?: Temporal.Instant;
  /** Key of the budget that has to allow more. */
  readonly waitsFor?: string;
  /** KubeVirt has as many VMs to move as it can. */
  readonly waitsForSlots?: true;
};

/** What becomes of one pod now. */
export type PodDecision =
  | PodWait
  | {
      readonly verdict: 'call';
      readonly budget?: Budget;
      /** In place of what the candidate says. */
      readonly gracePeriodSeconds?: number;
      /** Its responders are asked, by an EvictionRequest that this node owns. */
      readonly requestFor?: RequestOwner;
    };
