import type { PodCall } from '../drain/plan.ts';
import type { DesiredHostState } from '../vm/host.ts';
import type { Write } from '../write.ts';
import type { ReconcileMemo } from './snapshot.ts';

/** What only the API server can say. `key` is `namespace/name`, that of a request its own. */
export type Lookup =
  /** The volume of a claim. */
  | { readonly kind: 'PersistentVolumeClaim'; readonly key: string }
  /** Whether the DaemonSet is there that a pod names with this uid. */
  | { readonly kind: 'DaemonSet'; readonly key: string; readonly uid: string }
  /** The pods of a namespace that are on no node. They change: this is asked again and again. */
  | { readonly kind: 'UnscheduledPods'; readonly key: string }
  /** Whether the watch has told of all windows that were there before this request. */
  | { readonly kind: 'MaintenanceWindows'; readonly key: string; readonly uid: string; readonly generation: number };

/** What to do about a node now. */
export type Decision = {
  /** Independent of each other: they may be made at the same time. */
  readonly writes: readonly Write[];
  readonly calls: readonly PodCall[];
  /** uids of pods whose eviction may still be sent: anything queued beside them is called back. */
  readonly evictable: ReadonlySet<string>;
  /** Budgets (`namespace/name`) whose change must bring the node back here. */
  readonly waitsFor: readonly string[];
  /** VMs wait until KubeVirt has less to do: any change of one must bring the node back here. */
  readonly waitsForSlots: boolean;
  /** The VMs on its hypervisor are to leave as well; missing when they may stay, or when nothing can be said at this look. */
  readonly desiredHost?: DesiredHostState;
  /** Pods still to go: the fewer, the sooner the node has its turn. Infinity where nothing is drained. */
  readonly remaining: number;
  /** Its pods have to be watched. */
  readonly watchPods: boolean;
  /** The pods have to be read once more, now that the hold is in place: a node is not called empty by an old list. */
  readonly confirmPods: boolean;
  /** Only the operator's own pod is left to go: somebody else has to lead before it may. */
  readonly handOver: boolean;
  /** An EvictionRequest has not been answered: for a while none is made. */
  readonly requestUnanswered: boolean;
  /** What has to be known before anything else is decided. */
  readonly lookups: readonly Lookup[];
  readonly notes: ReconcileMemo;
  /** Look again at this time, whatever happens. */
  readonly requeueAt?: Temporal.Instant;
};
