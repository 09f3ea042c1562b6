import type { Write } from '../../write.ts';
import type { InFlight } from '../in-flight.ts';
import type { PlanSnapshot, WorkPod } from '../snapshot.ts';
import { deletePodWrite, isNamedFor, isWorkName, workPurpose } from '../writes.ts';
import { isOwnPod } from './own-pod.ts';

/** The pods that work on a node: one at most may run, and only as long as the plan has a right to it. */

/** No container of it runs, or ever will again. */
export const isOver = ({ phase }: WorkPod): boolean => phase === 'Succeeded' || phase === 'Failed';

/** Of all attempts of this turn of the node. */
export const podsOfTurn = ({ plan, pods }: PlanSnapshot, one: InFlight): readonly WorkPod[] => {
  const purposes = Array.from({ length: one.attempt }, (_, index) => workPurpose(plan, { ...one, attempt: index + 1 }));
  return [...pods.values()].filter(
    pod => isOwnPod(pod, plan) && pod.nodeName === one.node && purposes.some(purpose => isNamedFor(pod.name, purpose)),
  );
};

/** Of any turn of a node of this name: those that may run. */
export const workPodsOn = ({ plan, pods }: PlanSnapshot, node: string): readonly WorkPod[] =>
  [...pods.values()].filter(pod => pod.nodeName === node && isOwnPod(pod, plan) && isWorkName(pod.name) && !isOver(pod));

/** But for the pod of the present attempt: none of them may run beside it. */
export const podsOfOtherAttempts = (snapshot: PlanSnapshot, { node, pod: own }: InFlight): readonly WorkPod[] =>
  workPodsOn(snapshot, node).filter(({ name }) => name !== own);

/** Deletes them, but for those that are being deleted. One that has not run a container is deleted only as it was seen: it may have begun since. */
export const deletions = (pods: readonly WorkPod[]): readonly Write[] =>
  pods.filter(({ deleting }) => !deleting).map(pod => deletePodWrite(pod, isOver(pod) || pod.ran ? 'unconditional' : 'unchanged'));
