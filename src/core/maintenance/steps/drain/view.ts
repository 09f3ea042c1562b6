import { type DrainBehavior, drainBehaviorOf, type FilterContext, waitedForUntil } from '../../../drain/filters.ts';
import type { Pod } from '../../../pod/pod.ts';
import { type Rung, rungAt } from '../../../request/policy.ts';
import { secondsBetween } from '../../../time.ts';
import type { RequestProgress } from '../../reconcile-context.ts';

/** One request's view of the pods. */
export type DrainView = {
  readonly progress: RequestProgress;
  readonly rung?: Rung;
  readonly behaviors: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[];
};

/** The rung in force. The ladder is for the drain, not for pods that come after it was complete. */
export const rungOf = ({ request }: RequestProgress, now: Temporal.Instant): Rung | undefined => {
  const { drainStartedAt, drainedAt } = request.history;
  if (drainStartedAt === undefined || drainedAt !== undefined) return undefined;
  return rungAt(request.policy.ladder, secondsBetween(drainStartedAt, now));
};

export const viewOf = (progress: RequestProgress, pods: readonly Pod[], filterContext: FilterContext): DrainView => {
  const { now } = filterContext;
  const rung = rungOf(progress, now);
  const behaviors = pods.map(pod => ({ pod, behavior: drainBehaviorOf(pod, progress.request.policy, filterContext) }));
  return { progress, behaviors, ...(rung && { rung }) };
};

export type Judged = DrainView['behaviors'][number];

/** It is not the drain's business. */
export const stays = ({ behavior }: Judged): boolean => behavior.behavior === 'ignore';

export const isEmpty = ({ behaviors }: DrainView): boolean => behaviors.every(stays);

/** A refused pod stops the whole drain of its request, as it stops kubectl's: no pod is moved for a node that cannot be emptied. */
export const isStopped = ({ behaviors }: DrainView): boolean => behaviors.some(({ behavior }) => behavior.behavior === 'refuse');

/** When pods that have been terminating for too long stop to count. */
export const waitsEnd = ({ progress, behaviors }: DrainView): readonly Temporal.Instant[] =>
  behaviors.flatMap(({ pod, behavior }) => (behavior.behavior === 'evict' ? (waitedForUntil(pod, progress.request.policy) ?? []) : []));
