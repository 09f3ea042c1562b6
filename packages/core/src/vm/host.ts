import type { ServerPolicy } from './server-policy.ts';
import type { VmStatus } from './vm-status.ts';

/** Desired state of a node's hypervisor: to be empty. */
export type DesiredHostState = {
  /** Text for Nova's `disabled_reason`: the maintenance's name and its reason, for people. */
  readonly why: string;
  readonly policy: ServerPolicy;
};

/** View on the hypervisor of a node. */
export type HostView = {
  /** Every VM that is on it, or was since the state was desired; sorted by name. */
  readonly vms: readonly VmStatus[];
  /**
   * True if new VMs are kept away, and none that has to leave is left. Set only from observations
   * after new VMs were kept away.
   */
  readonly empty: boolean;
  /**
   * Reason why it does not go on as a whole at the moment, for example an API that does not
   * respond.
   */
  readonly problem?: string;
  readonly expectedEnd?: Temporal.Instant;
};
