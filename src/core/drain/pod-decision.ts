import type { Hindrance } from './blocker.ts';
import type { Budget } from './budget.ts';

/** What becomes of one pod now. */
export type Verdict =
  | { readonly verdict: 'call'; readonly budget?: Budget }
  | {
      readonly verdict: 'wait';
      readonly hindrance?: Hindrance;
      readonly again?: Temporal.Instant;
      /** Key of the budget that has to allow more. */
      readonly waitsFor?: string;
      /** KubeVirt has as many VMs to move as it can. */
      readonly waitsForRoom?: true;
    };
