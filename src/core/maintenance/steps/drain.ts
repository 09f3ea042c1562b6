import type { BlockerInfo } from '../../drain/blocker.ts';
import { type DrainBehavior, drainBehaviorOf, type FilterContext } from '../../drain/filters.ts';
import { type EvictionCandidate, type Plan, type PlanContext, plan } from '../../drain/plan.ts';
import { addTally, countOf, startTally } from '../../drain/tally.ts';
import { byKey, isTerminating, type Pod, terminatingSince } from '../../pod/pod.ts';
import { type DrainPolicy, type Rung, rungAt } from '../../request/policy.ts';
import { leaseKey, leaseNames } from '../../request/request.ts';
import { earliest, secondsAfter, secondsBetween } from '../../time.ts';
import { shutDownAt } from '../../vm/shut-down.ts';
import type { VmPod } from '../../vm/vm-pod.ts';
import { type DrainProgress, isDraining, type ReconcileContext, type RequestProgress, type Step } from '../reconcile-context.ts';
import { lookAtVms, type VmsLook } from './drain-vms.ts';

/** One request's view of the pods. */
type View = {
  readonly progress: RequestProgress;
  readonly rung?: Rung;
  readonly behaviors: readonly { readonly pod: Pod; readonly behavior: DrainBehavior }[];
};

/** The rung in force. The ladder is for the drain, not for pods that come after it was complete. */
const rungOf = ({ request }: RequestProgress, now: Temporal.Instant): Rung | undefined => {
  const { drainStartedAt, drainedAt } = request.history;
  if (drainStartedAt === undefined || drainedAt !== undefined) return undefined;
  return rungAt(request.policy.ladder, secondsBetween(drainStartedAt, now));
};

/** When the next rung comes into force. */
const nextRung = ({ request }: RequestProgress, now: Temporal.Instant): Temporal.Instant | undefined => {
  const start = request.history.drainStartedAt ?? now;
  if (request.history.drainedAt !== undefined) return undefined;
  const next = request.policy.ladder.find(({ afterSeconds }) => afterSeconds > secondsBetween(start, now));
  return next && secondsAfter(start, next.afterSeconds);
};

/** When the first VM that cannot move is to be shut down. */
const nextShutDown = (
  { request: { policy, history } }: RequestProgress,
  { vmPods }: VmsLook,
  now: Temporal.Instant,
): Temporal.Instant | undefined => {
  const times = [...vmPods.values()].map(vmPod => shutDownAt(vmPod, policy.virtualMachines, history.drainStartedAt ?? now, now));
  return earliest(times.map(time => (time === 'now' ? undefined : time)));
};

/** When pods that have been terminating for too long stop to count. */
const waitsEnd = ({ progress, behaviors }: View): readonly Temporal.Instant[] => {
  const { skipWaitForDeleteTimeoutSeconds: wait } = progress.request.policy;
  if (wait <= 0) return [];
  return behaviors.flatMap(({ pod, behavior }) => {
    const since = behavior.behavior === 'evict' ? terminatingSince(pod) : undefined;
    return since ? [secondsAfter(since, wait + 1)] : [];
  });
};

const viewOf = (progress: RequestProgress, pods: readonly Pod[], filterContext: FilterContext): View => {
  const { now } = filterContext;
  const rung = rungOf(progress, now);
  const behaviors = pods.map(pod => ({ pod, behavior: drainBehaviorOf(pod, progress.request.policy, filterContext) }));
  return { progress, behaviors, ...(rung && { rung }) };
};

type Judged = View['behaviors'][number];

/** It is not the drain's business. */
const stays = ({ behavior }: Judged): boolean => behavior.behavior === 'ignore';

const isEmpty = ({ behaviors }: View): boolean => behaviors.every(stays);

const uidOf = ({ pod }: Judged): string => pod.uid;

const about = ({ namespace, name }: Pod): { readonly namespace: string; readonly name: string } => ({ namespace, name });

const behaviorBlockerInfo = (pod: Pod, behavior: DrainBehavior): BlockerInfo | undefined => {
  if (behavior.behavior === 'refuse')
    return { cause: behavior.reason, pod: about(pod), message: behavior.message, remedy: behavior.remedy };
  if (behavior.behavior === 'await') {
    const goesAlong = behavior.reason === 'GoesWithItsVm';
    const message = goesAlong ? 'is a volume of a VM, and goes with it' : 'is left to finish by itself, as the policy says';
    return { cause: goesAlong ? 'EarlierWave' : behavior.reason, pod: about(pod), message };
  }
  return undefined;
};

/** A refused pod stops the whole drain of its request, as it stops kubectl's: no pod is moved for a node that cannot be emptied. */
const isStopped = ({ behaviors }: View): boolean => behaviors.some(({ behavior }) => behavior.behavior === 'refuse');

/** Undefined: the pod's own. */
const graceOf = ({ graceSeconds }: Pod, { gracePeriodSeconds, maxGracePeriodSeconds: most }: DrainPolicy): number | undefined => {
  const wanted = gracePeriodSeconds >= 0 ? gracePeriodSeconds : undefined;
  return most !== undefined && (wanted ?? graceSeconds) > most ? most : wanted;
};

/** The rung in force, or the policy for VMs that cannot move: what goes past an eviction, and with how long to end. */
const pastEviction = ({ progress, rung }: View, vmPod: VmPod | undefined, now: Temporal.Instant): Partial<EvictionCandidate> => {
  const { policy, history } = progress.request;
  if (rung?.action === 'Delete') {
    return {
      method: 'delete',
      escalated: true,
      ...(rung.gracePeriodSeconds !== undefined && { gracePeriodSeconds: rung.gracePeriodSeconds }),
    };
  }
  const { virtualMachines: vms } = policy;
  if (vmPod === undefined || shutDownAt(vmPod, vms, history.drainStartedAt ?? now, now) !== 'now') return {};
  const grace = vms.shutDownGracePeriodSeconds;
  return { method: 'delete', escalated: true, shutsDownVm: true, ...(grace !== undefined && { gracePeriodSeconds: grace }) };
};

const candidateOf = (view: View, pod: Pod, wave: number, vmPod: VmPod | undefined, now: Temporal.Instant): EvictionCandidate => {
  const { policy } = view.progress.request;
  const past = pastEviction(view, vmPod, now);
  const grace = past.escalated === true ? undefined : graceOf(pod, policy);
  return {
    pod,
    wave,
    method: policy.disableEviction ? 'delete' : 'evict',
    escalated: false,
    ...(policy.virtualMachines.notMigrated === 'Evict' && { mayStopVm: true }),
    ...(grace !== undefined && { gracePeriodSeconds: grace }),
    ...past,
  };
};

/** After every wave there may be: the operator goes when nobody needs it any more. */
const lastWave = Number.MAX_SAFE_INTEGER;

const mayMore = (one: EvictionCandidate, other: EvictionCandidate): boolean =>
  one.method === other.method ? one.mayStopVm === true && other.mayStopVm === undefined : one.method === 'delete';

/** Every pod that at least one request wants gone, once; the request that may do most decides how. */
const candidatesOf = (
  views: readonly View[],
  self: string | undefined,
  { vmPods }: VmsLook,
  now: Temporal.Instant,
): readonly EvictionCandidate[] => {
  const candidates = new Map<string, EvictionCandidate>();
  for (const view of views) {
    const stopped = isStopped(view);
    for (const { pod, behavior } of view.behaviors) {
      if (behavior.behavior !== 'evict' || (stopped && !isTerminating(pod))) continue;
      const known = candidates.get(pod.uid);
      const candidate = candidateOf(view, pod, pod.key === self ? lastWave : behavior.wave, vmPods.get(pod.uid), now);
      if (known === undefined || mayMore(candidate, known)) candidates.set(pod.uid, candidate);
    }
  }
  return [...candidates.values()];
};

type Looked = { readonly pods: readonly Pod[]; readonly blockerInfos: ReadonlyMap<string, BlockerInfo>; readonly vms: VmsLook };

const progressAfter = (view: View, { pods, blockerInfos, vms }: Looked, context: ReconcileContext): DrainProgress => {
  const { request } = view.progress;
  const left = view.behaviors.filter(one => !stays(one));
  const before = context.snapshot.notes.tallies.get(request.key) ?? startTally(request.history, left.length);
  const tally = addTally(before, left.map(uidOf), view.behaviors.filter(stays).map(uidOf));
  const count = countOf(tally, left.length);
  const own = left.flatMap(({ pod, behavior }) => behaviorBlockerInfo(pod, behavior) ?? blockerInfos.get(pod.key) ?? []);
  return {
    tally,
    count,
    total: count.toEvict + pods.length - left.length,
    waiting: left.map(({ pod }) => about(pod)),
    blockerInfos: own,
    emptied: left.length === 0,
    complete: left.length === 0,
    vms: vms.progressesOf(view.behaviors),
    ...(vms.movedAt && { vmsMovedAt: vms.movedAt }),
  };
};

const outOfTime = { reason: 'DeadlineExceeded', message: 'the drain was not complete in time; the node stays held' };

/** What is said of a request whose policy gave the node back. */
export const givenBack = { reason: 'GivenBack', message: 'the drain was not complete in time; the node is given back' };

/** A rung that ends the drain; undefined as long as it goes on. */
const ended = (view: View): Pick<RequestProgress, 'failure' | 'problem' | 'holds'> | undefined => {
  const { progress, rung } = view;
  if (progress.paused) return { holds: true };
  if (progress.failure === 'DeadlineExceeded') {
    return { failure: 'DeadlineExceeded', holds: true, problem: outOfTime };
  }
  if (rung === undefined || isEmpty(view)) return undefined;
  if (rung.action === 'Fail') return { failure: 'DeadlineExceeded', holds: true, problem: outOfTime };
  if (rung.action === 'Release') return { failure: 'GivenBack', holds: true, problem: givenBack };
  return undefined;
};

/** The lease was acquired just before the node was held, and says so for as long as it is. */
const surroundingsOf = ({ snapshot, now }: ReconcileContext, draining: readonly RequestProgress[], { vmPods }: VmsLook): PlanContext => {
  const { budgets, inFlight, attempts, leases, notes, nodeName, vms } = snapshot;
  const acquired = leaseNames(
    draining.map(({ request }) => request.adapter),
    nodeName,
  ).map(name => leases.get(leaseKey(name))?.acquireTime);
  const heldSince = earliest(acquired);
  const known = { nodeName, budgets, inFlight, attempts, recreations: notes.recreations, vmPods, now };
  return { ...known, ...(vms && { vms }), ...(heldSince && { heldSince }) };
};

/** The operator does not ask for its own eviction: whoever leads after it does. */
const withoutSelf = (planned: Plan, self: string | undefined): { readonly planned: Plan; readonly handOver: boolean } => {
  const own = planned.calls.find(({ pod }) => pod.key === self);
  if (own === undefined) return { planned, handOver: false };
  const message = "is the operator's own pod; another replica is to lead before it goes";
  const blockerInfo: BlockerInfo = { cause: 'EarlierWave', pod: about(own.pod), message };
  const calls = planned.calls.filter(call => call !== own);
  return { planned: { ...planned, calls, blockerInfos: [...planned.blockerInfos, blockerInfo] }, handOver: true };
};

/**
 * Judges every pod under every request, plans what may be asked for now, and says how far each request is. Nothing is evicted before the
 * hold has been seen: this step has its turn only then.
 */
export const drain: Step = start => {
  const draining = start.progresses.filter(isDraining);
  const { pods, podsConfirmed } = start.snapshot;
  if (draining.length === 0) return { done: true, context: start };
  const context = { ...start, confirmPods: !podsConfirmed };
  if (pods === undefined) return { done: false, context };
  const sorted = pods.toSorted(byKey);
  const vms = lookAtVms(context, sorted);
  const filterContext = { now: context.now, daemonSets: context.snapshot.daemonSets, vmPods: vms.vmPods };
  const views = draining.map(progress => viewOf(progress, sorted, filterContext));
  // The pods may have been read before the hold was in place: only a later list can say that none is left.
  if (!podsConfirmed && views.some(isEmpty)) return { done: false, context };
  const going = views.filter(view => ended(view) === undefined);
  const candidates = candidatesOf(going, context.snapshot.self, vms, context.now);
  const { planned, handOver } = withoutSelf(plan(candidates, surroundingsOf(context, draining, vms)), context.snapshot.self);
  const blockerInfos = new Map(
    planned.blockerInfos.flatMap(one => (one.pod ? [[`${one.pod.namespace}/${one.pod.name}`, one] as const] : [])),
  );
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
