import type { Plan } from '../plan.ts';
import type { WorkPod } from '../snapshot.ts';

/**
 * Whether the plan has made the pod: it is owned by the plan's uid. A kubelet may create mirror pods in any namespace, with any name and annotation, but names no
 * owner except its Node (NodeRestriction).
 */
export const isOwnPod = ({ ownerUid, isMirror }: WorkPod, { uid }: Pick<Plan, 'uid'>): boolean => ownerUid === uid && !isMirror;

/** What is told of a pod that stands in the way under the name of one that was to be made. */
export const foreignPodText = ({ namespace, name }: Pick<WorkPod, 'namespace' | 'name'>): string =>
  `Pod ${namespace}/${name} exists and was not made by this plan: delete it`;
