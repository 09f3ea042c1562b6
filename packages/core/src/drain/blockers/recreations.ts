import { isBefore, secondsAfter, truncate } from '@drydock/apimachinery';
import type { Pod } from '../../pod/pod.ts';
import type { BlockerInfo } from './blocker.ts';

/** Pods of one owner that came to a node although it is held, and were evicted again. */
export type Recreations = { readonly count: number; readonly lastAt: Temporal.Instant };

/**
 * Number of pods that may come and be evicted at once: a scheduler that was late, a controller that
 * retries once.
 */
const atOnce = 2;

/**
 * First and longest pause between further evictions, and the time without a new pod until all is
 * forgotten, in seconds.
 */
const first = 5;
const maxLength = 300;
const forgottenAfter = 1800;

/** Returns the owner of a pod: its controller, or the pod's own name if there is none. */
export function ownerKey({ namespace, name, owner }: Pod): string {
  return owner ? `${namespace}/${owner.kind}/${owner.name}` : `${namespace}/${name}`;
}

/**
 * Returns until when a pod that has just come stays, because its owner has sent others before: pods
 * that a controller puts on a held node again and again would otherwise be evicted as fast as they
 * come. Undefined: the pod may be evicted now.
 */
export function backoffUntil(
  recreations: Recreations | undefined,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  if (recreations === undefined || recreations.count < atOnce) return undefined;
  const pause = Math.min(first * 2 ** Math.min(recreations.count - atOnce, 20), maxLength);
  const until = secondsAfter(recreations.lastAt, pause);
  return isBefore(now, until) ? until : undefined;
}

/** Counts one more pod. */
export function incrementRecreation(
  recreations: Recreations | undefined,
  now: Temporal.Instant,
): Recreations {
  const forgotten =
    recreations === undefined || !isBefore(now, secondsAfter(recreations.lastAt, forgottenAfter));
  return { count: forgotten ? 1 : recreations.count + 1, lastAt: now };
}

/** Returns the hint for controllers that ignore cordons, like DaemonSets: their pods may stay. */
function staying({ namespace, owner }: Pod): string {
  return owner === undefined
    ? ''
    : `, or let pods of ${owner.kind} stay on nodes in maintenance: drain.ignorePods: [{namespaces: [${namespace}], ownerKinds: [${truncate(owner.kind, 63)}]}]`;
}

export function recreationBlocker(pod: Pod, { count }: Recreations): BlockerInfo {
  return {
    reason: 'KeepsComing',
    pod: { namespace: pod.namespace, name: pod.name },
    message: `came after the node was held, like ${count} before it from the same owner; it is evicted more slowly each time`,
    remedy: `remove the toleration or the fixed nodeName from the pod template${staying(pod)}`,
  };
}
