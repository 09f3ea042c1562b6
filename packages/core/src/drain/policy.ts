import type { LabelSelector } from '@drydock/apimachinery';
import {
  defaultServerPolicy,
  plainVmPolicy,
  type ServerPolicy,
  type VmPolicy,
} from '../vm/vm-status.ts';

/** A pick of pods. All given fields must match; an empty pick matches every pod. */
export type PodPick = {
  readonly podSelector?: LabelSelector;
  readonly namespaces?: readonly string[];
  /** Maximum priority value of the pods. */
  readonly maxPriority?: number;
  /** Kinds of the controllers that own the pods, for example Job. */
  readonly ownerKinds?: readonly string[];
};

/**
 * A rung of the escalation of a drain that takes too long; each at its own time, counted from the
 * start of the drain.
 */
export type Rung = {
  readonly afterSeconds: number;
  /**
   * Action. KeepTrying: go on as before (ends the effect of an earlier Delete). Delete: delete the
   * remaining pods, past their budgets, with the given grace period. Fail: stop evicting and keep
   * the hold. Release: stop and release the node.
   */
  readonly action: 'KeepTrying' | 'Delete' | 'Fail' | 'Release';
  /** Seconds of grace period for Delete; at least 1. The pod's own if left out. */
  readonly gracePeriodSeconds?: number;
};

/** Policy of a drain. The names are kubectl drain's where it has the same choice. */
export type DrainPolicy = {
  /** Selector for the pods that the drain handles; all if left out. */
  readonly podSelector?: LabelSelector;
  /** Seconds of grace period; -1 is the pod's own. */
  readonly gracePeriodSeconds: number;
  /** Maximum grace period in seconds, whatever a pod's own is. */
  readonly maxGracePeriodSeconds?: number;
  readonly deleteEmptyDirData: boolean;
  /** True to evict pods that no controller recreates. */
  readonly force: boolean;
  readonly ignoreDaemonSets: boolean;
  /** True to delete instead of evicting: budgets are not checked. */
  readonly disableEviction: boolean;
  /** Seconds after which terminating pods are no longer waited for; 0 waits for ever. */
  readonly skipWaitForDeleteTimeoutSeconds: number;
  /**
   * Picks in order: pods in the first entry that picks them leave first; an entry starts when the
   * previous one is empty. The rest comes last.
   */
  readonly waves: readonly PodPick[];
  /** Pods that stay on the node. */
  readonly ignorePods: readonly PodPick[];
  /** Pods that are left to finish on their own. */
  readonly awaitPods: readonly PodPick[];
  /** Rungs in order of time. */
  readonly ladder: readonly Rung[];
  /**
   * True if Drained also means that no volume of a pod that left is attached to the node any more.
   */
  readonly waitForVolumeDetach: boolean;
  /** Policy for KubeVirt's VMs. */
  readonly virtualMachines: VmPolicy;
  /** Policy for OpenStack's servers. */
  readonly servers: ServerPolicy;
};

/** Policy of the seed operators, which they cannot change (seed contract, chapter 4.1). */
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

/**
 * Returns the rung that is in force after `elapsedSeconds` of draining; undefined before the first.
 */
export function rungAt(ladder: readonly Rung[], elapsedSeconds: number): Rung | undefined {
  return ladder.filter(({ afterSeconds }) => afterSeconds <= elapsedSeconds).at(-1);
}
