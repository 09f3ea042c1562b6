import type { Write } from '../../write.ts';
import type { InFlight } from '../in-flight.ts';
import type { PlanSnapshot, WaitReason, WorkPod } from '../snapshot.ts';
import { deletePodWrite, isNamedFor, isWorkName, workPurpose } from '../writes.ts';
import { isOwnPod } from './own-pod.ts';

/**
 * Pods that work on a node: at most one may run, and only as long as the plan is entitled to it.
 */

/** Reports whether no container of it runs, or ever will again. */
export function isOver({ phase }: WorkPod): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}

/** Returns the pods of all attempts of this turn of the node. */
export function podsOfTurn({ plan, pods }: PlanSnapshot, one: InFlight): readonly WorkPod[] {
  const purposes = Array.from({ length: one.attempt }, (_, index) =>
    workPurpose(plan, { ...one, attempt: index + 1 }),
  );
  return [...pods.values()].filter(
    pod =>
      isOwnPod(pod, plan) &&
      pod.nodeName === one.node &&
      purposes.some(purpose => isNamedFor(pod.name, purpose)),
  );
}

/** Returns the pods of any turn of a node of this name that may run. */
export function workPodsOn({ plan, pods }: PlanSnapshot, node: string): readonly WorkPod[] {
  return [...pods.values()].filter(
    pod => pod.nodeName === node && isOwnPod(pod, plan) && isWorkName(pod.name) && !isOver(pod),
  );
}

/** Returns these pods except the pod of the present attempt: none of them may run beside it. */
export function podsOfOtherAttempts(
  snapshot: PlanSnapshot,
  { node, pod: own }: InFlight,
): readonly WorkPod[] {
  return workPodsOn(snapshot, node).filter(({ name }) => name !== own);
}

/** Returns the wait for the end of these pods, which keeps `what` from happening. */
export function waitForPods(
  [first, ...others]: readonly WorkPod[],
  node: string,
  what: string,
): WaitReason {
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  const message = `pod ${first?.name ?? ''}${more} of the work has to end before ${what}`;
  return { reason: 'Releasing', message, node };
}

/**
 * Deletes the pods that are not being deleted yet. A pod that has not run a container is deleted
 * only in the version that was read: it may have started since.
 */
export function deletions(pods: readonly WorkPod[]): readonly Write[] {
  return pods
    .filter(({ deleting }) => !deleting)
    .map(pod => deletePodWrite(pod, isOver(pod) || pod.ran ? 'unconditional' : 'unchanged'));
}
