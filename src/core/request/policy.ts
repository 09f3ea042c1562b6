import type { LabelSelector } from '../pod/selector.ts';
import { plainVmPolicy, type VmPolicy } from '../vm/policy.ts';
import { defaultServerPolicy, type ServerPolicy } from '../vm/server-policy.ts';

/** Picks pods. All that is given must fit; an empty one picks every pod. */
export type PodPick = {
  readonly podSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  /** Pods whose priority value is at most this. */
  readonly maxPriority?: number;
  /** Pods whose controller is of one of these kinds, for example Job. */
  readonly ownerKinds?: readonly string[];
};

/** What happens when a drain has taken too long; each rung at its own time, counted from the start of the drain. */
export type Rung = {
  readonly afterSeconds: number;
  /**
   * KeepTrying: go on as before (ends the effect of an earlier Delete). Delete: delete what is left, past its budgets, with the grace
   * period given. Fail: stop evicting and keep the hold. Release: stop and give the node back.
   */
  readonly action: 'KeepTrying' | 'Delete' | 'Fail' | 'Release';
  /** For Delete, in seconds; at least 1. The pod's own when left out. */
  readonly gracePeriodSeconds?: number;
};

/** How a node is emptied. The names are kubectl drain's where it has the same choice. */
export type DrainPolicy = {
  /** Only these pods are the drain's business; all when left out. */
  readonly podSelector?: LabelSelector;
  /** Seconds; -1 is the pod's own. */
  readonly gracePeriodSeconds: number;
  /** Seconds; no pod gets longer to end, whatever it asks for. */
  readonly maxGracePeriodSeconds?: number;
  readonly deleteEmptyDirData: boolean;
  /** Evict pods that no controller will bring back. */
  readonly force: boolean;
  readonly ignoreDaemonSets: boolean;
  /** Delete instead of evicting: budgets are not asked. */
  readonly disableEviction: boolean;
  /** Pods that have been terminating for longer than this are no longer waited for; 0 waits for ever. */
  readonly skipWaitForDeleteTimeoutSeconds: number;
  /** Pods in the first entry that picks them go first; an entry starts when the one before is empty. The rest comes last. */
  readonly waves: readonly PodPick[];
  /** Pods that stay where they are. */
  readonly ignorePods: readonly PodPick[];
  /** Pods that are left to finish by themselves. */
  readonly awaitPods: readonly PodPick[];
  /** In order of time. */
  readonly ladder: readonly Rung[];
  /** Drained means also: no volume of a pod that left is attached to the node any more. */
  readonly waitForVolumeDetach: boolean;
  /** KubeVirt's. */
  readonly virtualMachines: VmPolicy;
  /** OpenStack's. */
  readonly servers: ServerPolicy;
};

/** What the seed operators do and cannot change (seed contract, chapter 4.1). */
export const seedPolicy: DrainPolicy = {
  gracePeriodSeconds: -1,
  deleteEmptyDirData: true,
  force: true,
  ignoreDaemonSets: true,
  disableEviction: false,
  skipWaitForDeleteTimeoutSeconds: 0,
  waves: [],
  ignorePods: [],
  awaitPods: [],
  ladder: [],
  waitForVolumeDetach: true,
  virtualMachines: plainVmPolicy,
  servers: defaultServerPolicy,
};

/** The rung that is in force after `elapsedSeconds` of draining; undefined before the first. */
export const rungAt = (ladder: readonly Rung[], elapsedSeconds: number): Rung | undefined =>
  ladder.filter(({ afterSeconds }) => afterSeconds <= elapsedSeconds).at(-1);
