import type { BlockerInfo } from '../../../drain/blockers/blocker.ts';
import { deadNodeOf } from '../../../drain/blockers/dead-node.ts';
import { type EvictionPlan, type PlanContext, plan } from '../../../drain/plan.ts';
import { byKey } from '../../../pod/pod.ts';
import { leaseKey, leaseNames } from '../../../request/request.ts';
import { earliest } from '../../../time.ts';
import { isDraining, type ReconcileContext, type ReconcileStep, type RequestProgress } from '../../reconcile-context.ts';
import { candidatesOf } from './candidates.ts';
import { ended, nextRung, nextShutDown } from './escalation.ts';
import { about, progressAfter } from './progress.ts';
import { isEmpty, viewOf, waitsEnd } from './view.ts';
import { lookAtVms, type VmsLook } from './vms.ts';

/** The lease was acquired just before the node was held, and says so for as long as it is. */
const surroundingsOf = ({ snapshot, now }: ReconcileContext, draining: readonly RequestProgress[], { vmPods }: VmsLook): PlanContext => {
  const { budgets, inFlight, attempts, leases, notes, nodeName, vms, responders, evictionRequests } = snapshot;
  const acquired = leaseNames(
    draining.map(({ request }) => request.adapter),
    nodeName,
  ).map(name => leases.get(leaseKey(name))?.acquireTime);
  const heldSince = earliest(acquired);
  const deadNode = snapshot.node && deadNodeOf(snapshot.node);
  const known = { nodeName, budgets, inFlight, attempts, recreations: notes.recreations, vmPods, now };
  return {
    ...known,
    ...(deadNode && { deadNode }),
    ...(vms && { vms }),
    ...(responders && { responders }),
    ...(evictionRequests && { evictionRequests }),
    ...(heldSince && { heldSince }),
  };
};

/** The operator does not ask for its own eviction: whoever leads after it does. */
const withoutSelf = (planned: EvictionPlan, self: string | undefined): { readonly planned: EvictionPlan; readonly handOver: boolean } => {
  const own = planned.calls.find(({ pod }) => pod.key === self);
  if (own === undefined) return { planned, handOver: false };
  const message = "is the operator's own pod; another replica is to lead before it goes";
  const blockerInfo: BlockerInfo = { cause: 'EarlierWave', pod: about(own.pod), message };
  const calls = planned.calls.filter(call => call !== own);
  return { planned: { ...planned, calls, blockerInfos: [...planned.blockerInfos, blockerInfo] }, handOver: true };
};

const byPod = (infos: readonly BlockerInfo[]): ReadonlyMap<string, BlockerInfo> =>
  new Map(infos.flatMap(one => (one.pod ? [[`${one.pod.namespace}/${one.pod.name}`, one] as const] : [])));

/** As far as it comes: not done while the pods are not known. */
const judge: ReconcileStep = start => {
  const draining = start.progresses.filter(isDraining);
  const { pods, podsConfirmed, daemonSets, planWork } = start.snapshot;
  if (draining.length === 0) return { done: true, context: start };
  const context = { ...start, confirmPods: !podsConfirmed };
  if (pods === undefined) return { done: false, context };
  const sorted = pods.toSorted(byKey);
  const vms = lookAtVms(context, sorted);
  const filterContext = { now: context.now, daemonSets, planWork, vmPods: vms.vmPods };
  const views = draining.map(progress => viewOf(progress, sorted, filterContext));
  // The pods may have been read before the hold was in place: only a later list can say that none is left.
  if (!podsConfirmed && views.some(isEmpty)) return { done: false, context };
  const going = views.filter(view => ended(view) === undefined);
  const candidates = candidatesOf(going, context.snapshot.self, vms, context.now);
  const { planned, handOver } = withoutSelf(plan(candidates, surroundingsOf(context, draining, vms)), context.snapshot.self);
  const blockerInfos = byPod(planned.blockerInfos);
  const after = new Map(
    views.map(view => {
      const { progress } = view;
      const drain = progressAfter(view, { pods: sorted, blockerInfos, vms }, context);
      return [progress.request.key, { ...progress, ...ended(view), drain }] as const;
    }),
  );
  const moments = [
    planned.again,
    ...views.flatMap(waitsEnd),
    ...draining.flatMap(progress => [nextRung(progress, context.now), nextShutDown(progress, vms, context.now)]),
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
      moments: [...context.moments, ...moments.filter(moment => moment !== undefined)],
    },
  };
};

/**
 * Judges every pod under every request, plans what may be asked for now, and says how far each request is. Nothing is evicted before the
 * hold has been seen: this step has its turn only then.
 */
export const drain: ReconcileStep = start => {
  const { done, context } = judge(start);
  return { done, context: { ...context, isDrainJudged: done } };
};
