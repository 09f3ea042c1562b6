import { secondsBetween } from '@drydock/apimachinery';
import {
  type DrainBehavior,
  drainBehaviorOf,
  type FilterContext,
  waitedForUntil,
} from '../../../drain/filters.ts';
import { type Rung, rungAt } from '../../../drain/policy.ts';
import type { Pod } from '../../../pod/pod.ts';
import type { RequestProgress } from '../../reconcile-context.ts';

/** View of the pods by one request. */
export type DrainView = {
  readonly progress: RequestProgress;
  readonly rung?: Rung;
  readonly behaviors: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[];
};

/**
 * Returns the rung in force. The ladder is for the drain, not for pods that come after its
 * completion.
 */
export function rungOf({ request }: RequestProgress, now: Temporal.Instant): Rung | undefined {
  const { drainStartedAt, drainedAt } = request.history;
  if (drainStartedAt === undefined || drainedAt !== undefined) return undefined;
  return rungAt(request.policy.ladder, secondsBetween(drainStartedAt, now));
}

export function viewOf(
  progress: RequestProgress,
  pods: readonly Pod[],
  filterContext: FilterContext,
): DrainView {
  const { now } = filterContext;
  const rung = rungOf(progress, now);
  const behaviors = pods.map(pod => ({
    pod,
    behavior: drainBehaviorOf(pod, progress.request.policy, filterContext),
  }));
  return { progress, behaviors, ...(rung && { rung }) };
}

export type Judged = DrainView['behaviors'][number];

/** Reports whether the drain ignores the pod. */
export function stays({ behavior }: Judged): boolean {
  return behavior.behavior === 'ignore';
}

export function isEmpty({ behaviors }: DrainView): boolean {
  return behaviors.every(stays);
}

/**
 * Reports whether a refused pod stops the whole drain of its request, as in kubectl: no pod is
 * moved for a node that cannot be emptied.
 */
export function isStopped({ behaviors }: DrainView): boolean {
  return behaviors.some(({ behavior }) => behavior.behavior === 'refuse');
}

/** Returns the times at which pods that have been terminating for too long no longer count. */
export function waitsEnd({ progress, behaviors }: DrainView): readonly Temporal.Instant[] {
  return behaviors.flatMap(({ pod, behavior }) =>
    behavior.behavior === 'evict' ? (waitedForUntil(pod, progress.request.policy) ?? []) : [],
  );
}
