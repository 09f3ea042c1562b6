import { isDaemonSetPod } from '../../../pod/pod.ts';
import type { Lookup } from '../../decision.ts';
import { isDraining, type ReconcileStep } from '../../reconcile-context.ts';
import type { NodeSnapshot } from '../../snapshot.ts';

/**
 * Name by RFC 1123, as the API server validates it for objects. It does not validate names of
 * owners: a pod with another owner name refers to nothing that can exist.
 */
const objectName = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** Returns lookups for DaemonSets that pods of the node name and that no watch has delivered. */
function unknownOf({ pods = [], daemonSets, goneDaemonSets }: NodeSnapshot): readonly Lookup[] {
  if (daemonSets === undefined || goneDaemonSets === undefined) return [];
  const lookups = new Map<string, Lookup>();
  for (const { namespace, owner } of pods.filter(isDaemonSetPod)) {
    const { name, uid } = owner ?? { name: '', uid: '' };
    const key = `${namespace}/${name}`;
    if (objectName.test(name) && !daemonSets.has(key) && !goneDaemonSets.has(uid))
      lookups.set(uid, { kind: 'DaemonSet', key, uid });
  }
  return [...lookups.values()];
}

/**
 * Looks up unknown DaemonSets. Their watch may lag behind that of the pods, and a pod whose
 * DaemonSet counts as gone would be evicted although it belongs on the node: the API server is
 * queried first, as kubectl drain does.
 */
export const daemonSets: ReconcileStep = context => {
  const lookups = context.progresses.some(isDraining) ? unknownOf(context.snapshot) : [];
  return lookups.length === 0
    ? { done: true, context }
    : { done: false, context: { ...context, lookups: [...context.lookups, ...lookups] } };
};
