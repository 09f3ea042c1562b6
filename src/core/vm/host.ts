import type { ServerPolicy } from './server-policy.ts';
import type { VmStatus } from './vm-status.ts';

/** Somebody wants the hypervisor that a node is to be empty. */
export type DesiredHostState = {
  /** For Nova's `disabled_reason`: the maintenance's name and its reason, for people. */
  readonly why: string;
  readonly policy: ServerPolicy;
};

/** What is known of the hypervisor that a node is. */
export type HostView = {
  /** Every VM that is on it, or was since the state was desired; sorted by name. */
  readonly vms: readonly VmStatus[];
  /** New VMs are kept away, and nothing that has to leave is left. Said only of what was seen after new ones were kept away. */
  readonly empty: boolean;
  /** Why it does not go on as a whole at the moment, for example an API that does not answer. */
  readonly problem?: string;
  readonly expectedEnd?: Temporal.Instant;
};
