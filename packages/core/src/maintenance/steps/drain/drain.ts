import type { BlockerInfo } from '../../../drain/blockers/blocker.ts';
import { deadNodeOf } from '../../../drain/blockers/dead-node.ts';
import { type PlanContext, plan } from '../../../drain/plan.ts';
import { byKey } from '../../../pod/pod.ts';
import {
  isDraining,
  type ReconcileContext,
  type ReconcileStep,
  type RequestProgress,
} from '../../reconcile-context.ts';
import { candidatesOf } from './candidates.ts';
import { ended, nextRung, nextShutDown } from './escalation.ts';
import { ownPodOn, stayOf, withoutOwn } from './own-pod.ts';
import { progressAfter } from './progress.ts';
import { strayLookups } from './strays.ts';
import { isEmpty, viewOf, waitsEnd } from './view.ts';
import { assessVms, type VmAssessment } from './vms.ts';

/**
 * Returns the pods of the first list that was begun after the hold; later pods have come although
 * the node is held. No clock distinguishes the two.
 */
function residentsOf({
  snapshot: { pods, podsConfirmed },
  residents,
}: ReconcileContext): Pick<ReconcileContext, 'residents'> {
  if (residents !== undefined) return { residents };
  return pods !== undefined && podsConfirmed
    ? { residents: new Set(pods.map(({ uid }) => uid)) }
    : {};
}

function planContextOf(
  { snapshot, residents, now }: ReconcileContext,
  { vmPods }: VmAssessment,
): PlanContext {
  const {
    budgets,
    inFlight,
    attempts,
    memo: notes,
    nodeName,
    vms,
    responders,
    evictionRequests,
    unscheduled,
  } = snapshot;
  const deadNode = snapshot.node && deadNodeOf(snapshot.node);
  const known = {
    nodeName,
    budgets,
    inFlight,
    attempts,
    recreations: notes.recreations,
    vmPods,
    now,
  };
  return {
    ...known,
    ...(deadNode && { deadNode }),
    ...(vms && { vms }),
    ...(responders && { responders }),
    ...(evictionRequests && { evictionRequests }),
    ...(residents && { residents }),
    ...(unscheduled && { unscheduled: [...unscheduled.values()].flatMap(({ pods }) => pods) }),
  };
}

function byPod(infos: readonly BlockerInfo[]): ReadonlyMap<string, BlockerInfo> {
  return new Map(
    infos.flatMap(one => (one.pod ? [[`${one.pod.namespace}/${one.pod.name}`, one] as const] : [])),
  );
}

/** Returns the times at which the rungs of the ladder and the policies for VMs change. */
function nextSteps(
  draining: readonly RequestProgress[],
  vms: VmAssessment,
  now: Temporal.Instant,
): readonly (Temporal.Instant | undefined)[] {
  return draining.flatMap(progress => [nextRung(progress, now), nextShutDown(progress, vms, now)]);
}

/** Judges as far as possible: not done while the pods are not known. */
const judge: ReconcileStep = start => {
  const draining = start.progresses.filter(isDraining);
  const { pods, podsConfirmed, daemonSets, planWork } = start.snapshot;
  if (draining.length === 0) return { done: true, context: start };
  const context = { ...start, confirmPods: !podsConfirmed, ...residentsOf(start) };
  if (pods === undefined) return { done: false, context };
  const sorted = pods.toSorted(byKey);
  const vms = assessVms(context, sorted);
  const own = ownPodOn(start.snapshot);
  const filterContext = {
    now: context.now,
    daemonSets,
    planWork,
    vmPods: vms.vmPods,
    lastOperator: own?.stays,
  };
  const views = draining.map(progress => viewOf(progress, sorted, filterContext));
  // The pods may have been listed before the hold was in place: only a later list proves that none
  // is left.
  if (!podsConfirmed && views.some(isEmpty)) return { done: false, context };
  const going = views.filter(view => ended(view) === undefined);
  const candidates = candidatesOf(going, own?.pod, vms, context.now);
  const { planned, handOver } = withoutOwn(plan(candidates, planContextOf(context, vms)), own);
  const blockerInfos = byPod(planned.blockerInfos);
  const after = new Map(
    views.map(view => {
      const { progress } = view;
      const drain = progressAfter(view, { pods: sorted, blockerInfos, vms }, context);
      return [
        progress.request.key,
        { ...progress, ...ended(view), ...stayOf(view, own), drain },
      ] as const;
    }),
  );
  const strays = strayLookups(context, planned.blockerInfos);
  const moments = [
    planned.requeueAt,
    ...strays.moments,
    ...views.flatMap(waitsEnd),
    ...nextSteps(draining, vms, context.now),
  ];
  return {
    done: true,
    context: {
      ...context,
      plan: planned,
      handOver,
      ...(vms.tracked && { vms: vms.tracked }),
      evictable: new Set(candidates.map(({ pod }) => pod.uid)),
      progresses: context.progresses.map(progress => after.get(progress.request.key) ?? progress),
      lookups: [...context.lookups, ...strays.lookups],
      moments: [...context.moments, ...moments.filter(moment => moment !== undefined)],
    },
  };
};

/**
 * Judges every pod under every request, plans the evictions that may be sent now, and computes the
 * progress of each request. Nothing is evicted before the hold has been observed: this step runs
 * only then.
 */
export const drain: ReconcileStep = start => {
  const { done, context } = judge(start);
  return { done, context: { ...context, isDrainJudged: done } };
};
