import { planAnnotation } from '../plan/plan.ts';
import { goneBy, isDaemonSetPod, isFinished, isTerminating, type Pod } from '../pod/pod.ts';
import { matches } from '../pod/selector.ts';
import type { DrainPolicy, PodPick } from '../request/policy.ts';
import { isBefore, secondsAfter } from '../time.ts';
import { whyNotMigratable } from '../vm/kubevirt.ts';
import type { VmPod } from '../vm/vm-pod.ts';

/** What the policy says of one pod. */
export type DrainBehavior =
  | { readonly behavior: 'evict'; readonly wave: number }
  /** It is not the drain's business. */
  | {
      readonly behavior: 'ignore';
      readonly reason: 'TerminatingTooLong' | 'MirrorPod' | 'NotSelected' | 'LeftAlone' | 'DaemonSet' | 'LastOperator';
    }
  /** It is left to end by itself. */
  | { readonly behavior: 'await'; readonly reason: 'AwaitingCompletion' | 'GoesWithItsVm' | 'WorkOfPlan' }
  /** Evicting it would destroy something, and nobody has agreed to that. */
  | {
      readonly behavior: 'refuse';
      readonly reason: 'LocalData' | 'Unmanaged' | 'DaemonSet' | 'NotMigratable' | 'VirtualMachineStops';
      readonly message: string;
      readonly remedy: string;
    };

/** The plans that work on the node: an eviction would cut off in the middle what they do there, or take away what it came to. */
export type PlanWork = {
  /** Where the pods that do it are: nobody else may make pods there. */
  readonly namespace: string;
  /** Labels of the plans; undefined as long as they are not known. */
  readonly plans: ReadonlySet<string> | undefined;
};

/** What has to be known beside the pod. */
export type FilterContext = {
  readonly now: Temporal.Instant;
  /** `namespace/name` of the DaemonSets that exist; undefined as long as that is not known. */
  readonly daemonSets: ReadonlySet<string> | undefined;
  /** The VMs of virt-launcher pods, by the uid of the pod. */
  readonly vmPods: ReadonlyMap<string, VmPod>;
  /** Missing where nobody asks for plans. */
  readonly planWork?: PlanWork | undefined;
  /** `namespace/name` of the operator's own pod, while nobody could do its work any more if it went. */
  readonly lastOperator?: string | undefined;
};

type Rule = (pod: Pod, policy: DrainPolicy, filterContext: FilterContext) => DrainBehavior | undefined;

/** Whether the pick chooses the pod. */
const picks = (pick: PodPick, pod: Pod): boolean =>
  (pick.podSelector === undefined || matches(pick.podSelector, pod.labels)) &&
  (pick.namespaces === undefined || pick.namespaces.length === 0 || pick.namespaces.includes(pod.namespace)) &&
  (pick.maxPriority === undefined || pod.priority <= pick.maxPriority) &&
  (pick.ownerKinds === undefined || pick.ownerKinds.length === 0 || (pod.owner !== undefined && pick.ownerKinds.includes(pod.owner.kind)));

const waveOf = (pod: Pod, { waves }: DrainPolicy): number => {
  const index = waves.findIndex(pick => picks(pick, pod));
  return index === -1 ? waves.length : index;
};

const evict = (pod: Pod, policy: DrainPolicy): DrainBehavior => ({ behavior: 'evict', wave: waveOf(pod, policy) });

/** kubectl counts whole seconds, and asks for more of them than the flag says (skipDeletedFilter). */
const wholeSecond = 1;

/** When a pod is not waited for any more, under a policy that says so: that long after the time by which it was to be gone, its grace period included. */
export const waitedForUntil = (pod: Pod, { skipWaitForDeleteTimeoutSeconds: wait }: DrainPolicy): Temporal.Instant | undefined => {
  const due = wait > 0 ? goneBy(pod) : undefined;
  return due && secondsAfter(due, wait + wholeSecond);
};

const terminatingTooLong: Rule = (pod, policy, { now }) => {
  const until = waitedForUntil(pod, policy);
  return until !== undefined && !isBefore(now, until) ? { behavior: 'ignore', reason: 'TerminatingTooLong' } : undefined;
};

const mirrorPod: Rule = pod => (pod.mirror ? { behavior: 'ignore', reason: 'MirrorPod' } : undefined);

const notSelected: Rule = (pod, { podSelector }) =>
  podSelector === undefined || matches(podSelector, pod.labels) ? undefined : { behavior: 'ignore', reason: 'NotSelected' };

const leftAlone: Rule = (pod, { ignorePods }) =>
  ignorePods.some(pick => picks(pick, pod)) ? { behavior: 'ignore', reason: 'LeftAlone' } : undefined;

/** Running ones come back at once, so they stay; one whose DaemonSet is gone counts as unmanaged; finished ones go as all finished pods do. */
const daemonSetPod: Rule = (pod, policy, { daemonSets }) => {
  if (!isDaemonSetPod(pod) || isFinished(pod)) return undefined;
  const exists = daemonSets === undefined || daemonSets.has(`${pod.namespace}/${pod.owner?.name ?? ''}`);
  if (exists && policy.ignoreDaemonSets) return { behavior: 'ignore', reason: 'DaemonSet' };
  if (!exists && policy.force) return undefined;
  return {
    behavior: 'refuse',
    reason: exists ? 'DaemonSet' : 'Unmanaged',
    message: exists ? 'is managed by a DaemonSet' : 'belongs to a DaemonSet that does not exist any more',
    remedy: exists ? 'set drain.ignoreDaemonSets' : 'set drain.force to evict it, or delete it',
  };
};

/** Like those of a DaemonSet: its kubelet starts it again, and where it went nobody would give the node back. */
const lastOperator: Rule = (pod, _policy, filterContext) =>
  pod.key === filterContext.lastOperator && !isTerminating(pod) ? { behavior: 'ignore', reason: 'LastOperator' } : undefined;

/** What is going already needs no permission to go. */
const leaving: Rule = (pod, policy) => (isTerminating(pod) || isFinished(pod) ? evict(pod, policy) : undefined);

/** A plan ends its work within its time limit, and notes what it came to: that is waited for, whoever else drains the node. */
const workOfPlan: Rule = (pod, _policy, { planWork }) => {
  const plan = pod.labels[planAnnotation];
  if (planWork === undefined || plan === undefined || pod.namespace !== planWork.namespace || isTerminating(pod)) return undefined;
  return planWork.plans === undefined || planWork.plans.has(plan) ? { behavior: 'await', reason: 'WorkOfPlan' } : undefined;
};

const awaited: Rule = (pod, { awaitPods }) =>
  awaitPods.some(pick => picks(pick, pod)) ? { behavior: 'await', reason: 'AwaitingCompletion' } : undefined;

/** A hot-plugged volume's pod ends with the VM's pod that owns it, and KubeVirt refuses its eviction before. */
const volumeOfVm: Rule = pod =>
  pod.owner?.kind === 'Pod' && pod.name.startsWith('hp-volume-') ? { behavior: 'await', reason: 'GoesWithItsVm' } : undefined;

/** Somebody would rather have nothing moved than a VM left behind, or shut down. */
const vmRefused: Rule = (pod, { virtualMachines: { notMigratable, notMigrated } }, { vmPods }) => {
  const vmPod = vmPods.get(pod.uid);
  if (vmPod === undefined || vmPod.stay !== 'here') return undefined;
  const { evictionEffect, vmi } = vmPod;
  if (evictionEffect === 'Cannot' && notMigratable === 'Refuse') {
    const message = `is VM ${vmi.name}, which cannot be migrated: ${whyNotMigratable(vmi)}`;
    return { behavior: 'refuse', reason: 'NotMigratable', message, remedy: 'make it migratable, or shut it down' };
  }
  if (evictionEffect !== 'Stops' || notMigrated !== 'Refuse') return undefined;
  const message = `is VM ${vmi.name}, which its eviction would shut down`;
  return { behavior: 'refuse', reason: 'VirtualMachineStops', message, remedy: 'set its evictionStrategy to LiveMigrate, or shut it down' };
};

/** A VM takes along what it has when it migrates. */
const takesItAlong = (vmPod: VmPod | undefined): boolean => vmPod !== undefined && vmPod.evictionEffect !== 'Stops';

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

/** Read aloud, this list is the policy: the first rule with an opinion decides. */
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

/** The fate of one pod under one policy. Total: every pod has exactly one. */
export const drainBehaviorOf = (pod: Pod, policy: DrainPolicy, filterContext: FilterContext): DrainBehavior => {
  for (const rule of rules) {
    const behavior = rule(pod, policy, filterContext);
    if (behavior !== undefined) return behavior;
  }
  return evict(pod, policy);
};
