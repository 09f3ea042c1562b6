import type { Plan } from '../plan.ts';
import type { WorkPod } from '../snapshot.ts';

/**
 * Reports whether the plan has created the pod: it is owned by the plan's uid. A kubelet may create
 * mirror pods in any namespace, with any name and annotation, but names no owner except its Node
 * (NodeRestriction).
 */
export function isOwnPod({ ownerUid, isMirror }: WorkPod, { uid }: Pick<Plan, 'uid'>): boolean {
  return ownerUid === uid && !isMirror;
}

/** Returns the text for a foreign pod that has the name of a pod to create. */
export function foreignPodText({ namespace, name }: Pick<WorkPod, 'namespace' | 'name'>): string {
  return `Pod ${namespace}/${name} exists and was not made by this plan: delete it`;
}
