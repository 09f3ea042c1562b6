import type { Pod } from '../../pod/pod.ts';
import { truncate } from '../../text.ts';
import { isBefore, secondsAfter } from '../../time.ts';
import type { BlockerInfo } from './blocker.ts';

/** Pods of one owner that came to a node although it is held, and were asked to leave again. */
export type Recreations = { readonly count: number; readonly lastAt: Temporal.Instant };

/** So many may come and be moved on at once: a scheduler that was a moment late, a controller that tries once more. */
const atOnce = 2;

/** First and longest pause between further ones, and how long without one until all is forgotten, in seconds. */
const first = 5;
const maxLength = 300;
const forgottenAfter = 1800;

/** Whose pod it is: the controller, or the pod's own name where there is none. */
export const ownerKey = ({ namespace, name, owner }: Pod): string =>
  owner ? `${namespace}/${owner.kind}/${owner.name}` : `${namespace}/${name}`;

/**
 * Until when a pod that has just come stays, because its owner has sent others before: whoever puts pods on a held node again and again
 * would otherwise have them evicted as fast as they come. Undefined: it may be asked to leave now.
 */
export const backoffUntil = (recreations: Recreations | undefined, now: Temporal.Instant): Temporal.Instant | undefined => {
  if (recreations === undefined || recreations.count < atOnce) return undefined;
  const pause = Math.min(first * 2 ** Math.min(recreations.count - atOnce, 20), maxLength);
  const until = secondsAfter(recreations.lastAt, pause);
  return isBefore(now, until) ? until : undefined;
};

/** Counts one more. */
export const incrementRecreation = (recreations: Recreations | undefined, now: Temporal.Instant): Recreations => {
  const forgotten = recreations === undefined || !isBefore(now, secondsAfter(recreations.lastAt, forgottenAfter));
  return { count: forgotten ? 1 : recreations.count + 1, lastAt: now };
};

/** Controllers that put pods where they like, as DaemonSets do: what they put there may stay. */
const staying = ({ namespace, owner }: Pod): string =>
  owner === undefined
    ? ''
    : `, or let pods of ${owner.kind} stay on nodes in maintenance: drain.ignorePods: [{namespaces: [${namespace}], ownerKinds: [${truncate(owner.kind, 63)}]}]`;

export const recreationBlocker = (pod: Pod, { count }: Recreations): BlockerInfo => ({
  cause: 'KeepsComing',
  pod: { namespace: pod.namespace, name: pod.name },
  message: `came after the node was held, like ${count} before it from the same owner; it is evicted more slowly each time`,
  remedy: `remove the toleration or the fixed nodeName from the pod template${staying(pod)}`,
});
