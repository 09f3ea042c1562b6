import type { BlockerInfo } from './blockers/blocker.ts';
import type { Budget } from './budgets/budget.ts';
import type { RequestOwner } from './responders/eviction-request.ts';

/** Decision to send nothing now. */
export type PodWait = {
  readonly verdict: 'wait';
  readonly blockerInfo?: BlockerInfo;
  readonly requeueAt?: Temporal.Instant;
  /** Key of the budget that has to allow more. */
  readonly waitsFor?: string;
  /** True if KubeVirt has as many VMs to move as it can. */
  readonly waitsForSlots?: true;
};

/** Decision about one pod now. */
export type PodDecision =
  | PodWait
  | {
      readonly verdict: 'call';
      readonly budget?: Budget;
      /** Seconds of grace period that replace the candidate's. */
      readonly gracePeriodSeconds?: number;
      /** Node that owns the EvictionRequest to the pod's responders. */
      readonly requestFor?: RequestOwner;
    };
