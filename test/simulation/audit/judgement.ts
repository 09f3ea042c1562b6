import type { JsonObject } from '@drydock/apimachinery';
import { planAnnotation } from '@drydock/core/plan';
import { at, items, objects, part, type Stored, strings, text } from '@drydock/kube-sim';
import type { Store } from '@drydock/kube-sim/store';
import { workNamespace } from '@drydock/operator';
import { flag, policyOf, type Records, type Version } from './records.ts';

/**
 * What the policy says of a pod, worked out from the stored objects alone: no decision of the
 * operator's is used here.
 */

export type Judgement = 'goes' | 'stays' | 'awaited' | 'refused';

export function ownerOf(
  pod: Stored,
): { readonly kind: string; readonly name: string; readonly uid: string } | undefined {
  const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
  return owner && { kind: owner.kind, name: owner.name, uid: owner.uid };
}

/** Of the apps group, as kubectl drain asks: others of that name are controllers like any other. */
function isOfDaemonSet(pod: Stored): boolean {
  return (
    pod.metadata.ownerReferences?.some(
      ({ kind, apiVersion, controller }) =>
        controller === true && kind === 'DaemonSet' && apiVersion.startsWith('apps/'),
    ) === true
  );
}

export function isTerminating(pod: Stored): boolean {
  return pod.metadata.deletionTimestamp !== undefined;
}

export function isFinished(pod: Stored): boolean {
  return ['Succeeded', 'Failed'].includes(text(pod, 'status', 'phase'));
}

export function isReady(pod: Stored): boolean {
  return objects(at(pod, 'status', 'conditions')).some(
    one => one['type'] === 'Ready' && one['status'] === 'True',
  );
}

export function nodeOfPod(pod: Stored): string {
  return text(pod, 'spec', 'nodeName');
}

export function isLauncher(pod: Stored): boolean {
  return pod.metadata.labels?.['kubevirt.io'] === 'virt-launcher';
}

/** Of the selectors that stories have: labels that must be there. */
function fits(selector: JsonObject | undefined, pod: Stored): boolean {
  return Object.entries(strings(at(selector, 'matchLabels'))).every(
    ([key, value]) => pod.metadata.labels?.[key] === value,
  );
}

function picks(pick: JsonObject, pod: Stored): boolean {
  const [namespaces, kinds, most] = [
    items(pick['namespaces']),
    items(pick['ownerKinds']),
    pick['maxPriority'],
  ];
  const priority = at(pod, 'spec', 'priority');
  return (
    fits(part(pick, 'podSelector'), pod) &&
    (namespaces.length === 0 || namespaces.includes(pod.metadata.namespace ?? '')) &&
    (kinds.length === 0 || kinds.includes(ownerOf(pod)?.kind ?? '')) &&
    (typeof most !== 'number' || (typeof priority === 'number' ? priority : 0) <= most)
  );
}

function isPicked(policy: JsonObject, list: string, pod: Stored): boolean {
  return objects(policy[list]).some(pick => picks(pick, pod));
}

function hasEmptyDir(pod: Stored): boolean {
  return objects(at(pod, 'spec', 'volumes')).some(volume => volume['emptyDir'] !== undefined);
}

/**
 * Counts whole seconds from the deletionTimestamp, which is the end of the grace period, as kubectl
 * does (shouldSkipPod).
 */
function isOverdue(policy: JsonObject, pod: Stored, nowMs: number): boolean {
  const wait = policy['skipWaitForDeleteTimeoutSeconds'];
  const { deletionTimestamp } = pod.metadata;
  if (typeof wait !== 'number' || wait <= 0 || deletionTimestamp === undefined) return false;
  return Math.floor((nowMs - Date.parse(deletionTimestamp)) / 1000) > wait;
}

function ofDaemonSet(pod: Stored, policy: JsonObject, store: Store): Judgement {
  const { name = '' } = ownerOf(pod) ?? {};
  const exists = store.get('daemonsets.apps', pod.metadata.namespace ?? '', name) !== undefined;
  if (exists) return flag(policy, 'ignoreDaemonSets', true) ? 'stays' : 'refused';
  return flag(policy, 'force', false) ? 'goes' : 'refused';
}

/**
 * Its DaemonSet has gone within the last so many milliseconds: to those who know it late, the pod
 * stays on its node.
 */
export function hasLostDaemonSet(pod: Stored, records: Records, withinMs: number): boolean {
  return (
    records.goneFor('daemonsets.apps', pod.metadata.namespace ?? '', ownerOf(pod)?.name ?? '') <=
    withinMs
  );
}

/** States of a node in flight in which the work of its plan may be under way. */
const atWork = new Set(['Working', 'Rebooting']);

/** The plan that a pod in the namespace of the work says that it is of. */
export function planOfPod({ metadata }: Stored): string | undefined {
  return metadata.namespace === workNamespace ? metadata.annotations?.[planAnnotation] : undefined;
}

/**
 * It works for a plan on its node: that is waited for. Of work that the plan began after `knownMs`
 * nobody has to know.
 */
function isWorkOfPlan(pod: Stored, store: Store, knownMs: number): boolean {
  const plan = store.get('maintenanceplans.drydock.dev', '', planOfPod(pod) ?? '');
  return objects(at(plan, 'status', 'inFlight')).some(
    one =>
      text(one, 'node') === nodeOfPod(pod) &&
      atWork.has(text(one, 'state')) &&
      one['outcome'] === undefined &&
      Date.parse(text(one, 'workStartTime')) <= knownMs,
  );
}

/** What the maintenance says of the pod, as far as what happened until `knownMs` is known. */
export function judge(
  pod: Stored,
  version: Pick<Version, 'resource' | 'object'>,
  store: Store,
  nowMs: number,
  knownMs = Number.POSITIVE_INFINITY,
): Judgement {
  const policy = policyOf(version);
  if (isOverdue(policy, pod, nowMs)) return 'stays';
  if (pod.metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined) return 'stays';
  if (!fits(part(policy, 'podSelector'), pod) || isPicked(policy, 'ignorePods', pod))
    return 'stays';
  if (isOfDaemonSet(pod) && !isFinished(pod)) return ofDaemonSet(pod, policy, store);
  if (isTerminating(pod)) return 'goes';
  if (isWorkOfPlan(pod, store, knownMs)) return 'awaited';
  if (isFinished(pod)) return 'goes';
  if (isPicked(policy, 'awaitPods', pod)) return 'awaited';
  // What a VM has it takes along.
  if (hasEmptyDir(pod) && !isLauncher(pod) && !flag(policy, 'deleteEmptyDirData', false))
    return 'refused';
  return ownerOf(pod) === undefined && !flag(policy, 'force', false) ? 'refused' : 'goes';
}
