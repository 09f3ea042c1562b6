import { isBefore, matches, secondsAfter } from '@drydock/apimachinery';
import { planAnnotation } from '../plan-annotation.ts';
import { goneBy, isDaemonSetPod, isFinished, isTerminating, type Pod } from '../pod/pod.ts';
import { whyNotMigratable } from '../vm/kubevirt.ts';
import type { VmPod } from '../vm/vm-pod.ts';
import type { DrainPolicy, PodPick } from './policy.ts';

/** Decision of the policy about one pod. */
export type DrainBehavior =
  | { readonly behavior: 'evict'; readonly wave: number }
  /** The drain ignores the pod. */
  | {
      readonly behavior: 'ignore';
      readonly reason:
        | 'TerminatingTooLong'
        | 'MirrorPod'
        | 'NotSelected'
        | 'LeftAlone'
        | 'DaemonSet'
        | 'LastOperator';
    }
  /** The pod is left to end on its own. */
  | {
      readonly behavior: 'await';
      readonly reason: 'AwaitingCompletion' | 'GoesWithItsVm' | 'WorkOfPlan';
    }
  /** An eviction would destroy something, and no policy has agreed to that. */
  | {
      readonly behavior: 'refuse';
      readonly reason:
        | 'LocalData'
        | 'Unmanaged'
        | 'DaemonSet'
        | 'NotMigratable'
        | 'VirtualMachineStops';
      readonly message: string;
      readonly remedy: string;
    };

/** Plans that work on the node: an eviction would interrupt their work, or lose its result. */
export type PlanWork = {
  /** Namespace of the pods that do the work: only Drydock may create pods there. */
  readonly namespace: string;
  /** Labels of the plans; undefined as long as they are not known. */
  readonly plans: ReadonlySet<string> | undefined;
};

/** Facts beside the pod that the decision needs. */
export type FilterContext = {
  readonly now: Temporal.Instant;
  /** `namespace/name` of the DaemonSets that exist; undefined as long as that is not known. */
  readonly daemonSets: ReadonlySet<string> | undefined;
  /** VMs of virt-launcher pods, by the uid of the pod. */
  readonly vmPods: ReadonlyMap<string, VmPod>;
  /** Work of plans; missing if plans are not watched. */
  readonly planWork?: PlanWork | undefined;
  /** `namespace/name` of the operator's own pod, while no other pod could take over its work. */
  readonly lastOperator?: string | undefined;
};

type Rule = (
  pod: Pod,
  policy: DrainPolicy,
  filterContext: FilterContext,
) => DrainBehavior | undefined;

/** Reports whether the pick selects the pod. */
function picks(pick: PodPick, pod: Pod): boolean {
  return (
    (pick.podSelector === undefined || matches(pick.podSelector, pod.labels)) &&
    (pick.namespaces === undefined ||
      pick.namespaces.length === 0 ||
      pick.namespaces.includes(pod.namespace)) &&
    (pick.maxPriority === undefined || pod.priority <= pick.maxPriority) &&
    (pick.ownerKinds === undefined ||
      pick.ownerKinds.length === 0 ||
      (pod.owner !== undefined && pick.ownerKinds.includes(pod.owner.kind)))
  );
}

function waveOf(pod: Pod, { waves }: DrainPolicy): number {
  const index = waves.findIndex(pick => picks(pick, pod));
  return index === -1 ? waves.length : index;
}

function evict(pod: Pod, policy: DrainPolicy): DrainBehavior {
  return { behavior: 'evict', wave: waveOf(pod, policy) };
}

/**
 * Second that is added: kubectl counts whole seconds, and demands more of them than the flag gives
 * (skipDeletedFilter).
 */
const wholeSecond = 1;

/**
 * Returns the time from which the pod is no longer waited for, under a policy with that limit: the
 * limit after the time by which the pod was to be gone, grace period included.
 */
export function waitedForUntil(
  pod: Pod,
  { skipWaitForDeleteTimeoutSeconds: wait }: DrainPolicy,
): Temporal.Instant | undefined {
  const due = wait > 0 ? goneBy(pod) : undefined;
  return due && secondsAfter(due, wait + wholeSecond);
}

const terminatingTooLong: Rule = (pod, policy, { now }) => {
  const until = waitedForUntil(pod, policy);
  return until !== undefined && !isBefore(now, until)
    ? { behavior: 'ignore', reason: 'TerminatingTooLong' }
    : undefined;
};

const mirrorPod: Rule = pod =>
  pod.mirror ? { behavior: 'ignore', reason: 'MirrorPod' } : undefined;

const notSelected: Rule = (pod, { podSelector }) =>
  podSelector === undefined || matches(podSelector, pod.labels)
    ? undefined
    : { behavior: 'ignore', reason: 'NotSelected' };

const leftAlone: Rule = (pod, { ignorePods }) =>
  ignorePods.some(pick => picks(pick, pod))
    ? { behavior: 'ignore', reason: 'LeftAlone' }
    : undefined;

/**
 * Decides on DaemonSet pods. Running ones are recreated at once, so they stay; a pod whose
 * DaemonSet is gone counts as unmanaged; finished ones leave as all finished pods do.
 */
const daemonSetPod: Rule = (pod, policy, { daemonSets }) => {
  if (!isDaemonSetPod(pod) || isFinished(pod)) return undefined;
  const exists =
    daemonSets === undefined || daemonSets.has(`${pod.namespace}/${pod.owner?.name ?? ''}`);
  if (exists && policy.ignoreDaemonSets) return { behavior: 'ignore', reason: 'DaemonSet' };
  if (!exists && policy.force) return undefined;
  return {
    behavior: 'refuse',
    reason: exists ? 'DaemonSet' : 'Unmanaged',
    message: exists
      ? 'is managed by a DaemonSet'
      : 'belongs to a DaemonSet that does not exist any more',
    remedy: exists ? 'set drain.ignoreDaemonSets' : 'set drain.force to evict it, or delete it',
  };
};

/**
 * Keeps the last operator, like the pods of a DaemonSet: its kubelet restarts it, and without it no
 * process would release the node.
 */
const lastOperator: Rule = (pod, _policy, filterContext) =>
  pod.key === filterContext.lastOperator && !isTerminating(pod)
    ? { behavior: 'ignore', reason: 'LastOperator' }
    : undefined;

/** Evicts pods that are leaving already: they need no permission. */
const leaving: Rule = (pod, policy) =>
  isTerminating(pod) || isFinished(pod) ? evict(pod, policy) : undefined;

/**
 * Waits for the work of a plan: the plan ends it within its time limit and records the result,
 * during any drain of the node.
 */
const workOfPlan: Rule = (pod, _policy, { planWork }) => {
  const plan = pod.labels[planAnnotation];
  if (
    planWork === undefined ||
    plan === undefined ||
    pod.namespace !== planWork.namespace ||
    isTerminating(pod)
  )
    return undefined;
  return planWork.plans === undefined || planWork.plans.has(plan)
    ? { behavior: 'await', reason: 'WorkOfPlan' }
    : undefined;
};

const awaited: Rule = (pod, { awaitPods }) =>
  awaitPods.some(pick => picks(pick, pod))
    ? { behavior: 'await', reason: 'AwaitingCompletion' }
    : undefined;

/**
 * Waits for the pod of a hot-plugged volume: it ends with the VM's pod that owns it, and KubeVirt
 * refuses its eviction before.
 */
const volumeOfVm: Rule = pod =>
  pod.owner?.kind === 'Pod' && pod.name.startsWith('hp-volume-')
    ? { behavior: 'await', reason: 'GoesWithItsVm' }
    : undefined;

/**
 * Refuses the drain if the policy prefers that nothing moves to a VM that is left behind or shut
 * down.
 */
const vmRefused: Rule = (pod, { virtualMachines: { notMigratable, notMigrated } }, { vmPods }) => {
  const vmPod = vmPods.get(pod.uid);
  if (vmPod === undefined || vmPod.stay !== 'here') return undefined;
  const { evictionEffect, vmi } = vmPod;
  if (evictionEffect === 'Cannot' && notMigratable === 'Refuse') {
    const message = `is VM ${vmi.name}, which cannot be migrated: ${whyNotMigratable(vmi)}`;
    return {
      behavior: 'refuse',
      reason: 'NotMigratable',
      message,
      remedy: 'make it migratable, or shut it down',
    };
  }
  if (evictionEffect !== 'Stops' || notMigrated !== 'Refuse') return undefined;
  const message = `is VM ${vmi.name}, which its eviction would shut down`;
  return {
    behavior: 'refuse',
    reason: 'VirtualMachineStops',
    message,
    remedy: 'set its evictionStrategy to LiveMigrate, or shut it down',
  };
};

/** Reports whether the VM takes its local data along when it migrates. */
function takesItAlong(vmPod: VmPod | undefined): boolean {
  return vmPod !== undefined && vmPod.evictionEffect !== 'Stops';
}

const localData: Rule = (pod, { deleteEmptyDirData }, { vmPods }) =>
  pod.localData && !deleteEmptyDirData && !takesItAlong(vmPods.get(pod.uid))
    ? {
        behavior: 'refuse',
        reason: 'LocalData',
        message: 'has an emptyDir volume whose data would be lost',
        remedy: 'set drain.deleteEmptyDirData, or move the data',
      }
    : undefined;

const unmanaged: Rule = (pod, { force }) =>
  pod.owner === undefined && !force
    ? {
        behavior: 'refuse',
        reason: 'Unmanaged',
        message: `has no controller that would recreate it${pod.otherOwner === undefined ? '' : `: its owner ${pod.otherOwner} is not marked as one`}`,
        remedy: 'set drain.force, or delete it',
      }
    : undefined;

/** Rules in the order of the policy: the first rule with a decision wins. */
const rules: readonly Rule[] = [
  terminatingTooLong,
  mirrorPod,
  notSelected,
  leftAlone,
  daemonSetPod,
  lastOperator,
  workOfPlan,
  leaving,
  awaited,
  volumeOfVm,
  vmRefused,
  localData,
  unmanaged,
];

/** Returns the decision for one pod under one policy. Total: every pod has exactly one. */
export function drainBehaviorOf(
  pod: Pod,
  policy: DrainPolicy,
  filterContext: FilterContext,
): DrainBehavior {
  for (const rule of rules) {
    const behavior = rule(pod, policy, filterContext);
    if (behavior !== undefined) return behavior;
  }
  return evict(pod, policy);
}
