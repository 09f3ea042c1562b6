import type { PodCall } from '../drain/plan.ts';
import type { DesiredHostState } from '../vm/host.ts';
import type { Write } from '../write.ts';
import type { ReconcileMemo } from './snapshot.ts';

/**
 * Lookups that only the API server can resolve. `key` is `namespace/name`; for a request, `key` is
 * the request's own.
 */
export type Lookup =
  /** Volume of a claim. */
  | { readonly kind: 'PersistentVolumeClaim'; readonly key: string }
  /** Existence of the DaemonSet that a pod names with this uid. */
  | { readonly kind: 'DaemonSet'; readonly key: string; readonly uid: string }
  /** Pods of a namespace that are on no node. They change, so this lookup is repeated. */
  | { readonly kind: 'UnscheduledPods'; readonly key: string }
  /**
   * Completeness of the windows: whether the watch has delivered all that were there before this
   * request.
   */
  | {
      readonly kind: 'MaintenanceWindows';
      readonly key: string;
      readonly uid: string;
      readonly generation: number;
    };

/** Decision on what to do about a node now. */
export type Decision = {
  /** Writes that are independent of each other: they may be sent at the same time. */
  readonly writes: readonly Write[];
  readonly calls: readonly PodCall[];
  /** uids of pods whose eviction may still be sent: any other queued eviction is cancelled. */
  readonly evictable: ReadonlySet<string>;
  /** Budgets (`namespace/name`) whose change requeues the node. */
  readonly waitsFor: readonly string[];
  /** True if VMs wait until KubeVirt has less to do: any change of a VM requeues the node. */
  readonly waitsForSlots: boolean;
  /**
   * State that the hypervisor of the node is to have, so that its VMs leave as well; missing if
   * they may stay, or if this pass cannot decide it.
   */
  readonly desiredHost?: DesiredHostState;
  /**
   * Number of pods that still have to leave: the fewer, the earlier the node's turn. Infinity where
   * nothing is drained.
   */
  readonly remaining: number;
  /** True if the pods of the node have to be watched. */
  readonly watchPods: boolean;
  /**
   * True if the pods have to be listed once more, now that the hold is in place: an old list must
   * not make a node count as empty.
   */
  readonly confirmPods: boolean;
  /**
   * True if only the operator's own pod is left: another replica has to lead before that pod may
   * leave.
   */
  readonly handOver: boolean;
  /** True if no controller has responded to an EvictionRequest: for a while none is created. */
  readonly requestUnanswered: boolean;
  /** Lookups that have to be resolved before anything else is decided. */
  readonly lookups: readonly Lookup[];
  readonly notes: ReconcileMemo;
  /** Time of the next look, even if nothing changes before. */
  readonly requeueAt?: Temporal.Instant;
};
