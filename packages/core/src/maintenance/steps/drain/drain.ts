import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { type BlockerInfo, knownSince } from '../../../drain/blockers/blocker.ts';
import { deadNodeOf } from '../../../drain/blockers/dead-node.ts';
import {
  type EvictionCandidate,
  type EvictionPlan,
  type PlanContext,
  plan,
} from '../../../drain/plan.ts';
import type { DrainPolicy } from '../../../drain/policy.ts';
import { byKey, isDaemonSetPod, isTerminating, type Pod } from '../../../pod/pod.ts';
import type { VmPod } from '../../../vm/vm-pod.ts';
import type { Lookup } from '../../decision.ts';
import {
  isDraining,
  type ReconcileContext,
  type ReconcileStep,
  type RequestProgress,
} from '../../reconcile-context.ts';
import type { NodeSnapshot } from '../../snapshot.ts';
import { type Successor, staysText, successorOf } from '../../successor.ts';
import {
  about,
  assessVms,
  type DrainView,
  ended,
  escalationFor,
  isEmpty,
  isStopped,
  nextRung,
  nextShutDown,
  progressAfter,
  type VmAssessment,
  viewOf,
  waitsEnd,
} from './view.ts';

/** Returns the grace period in seconds to send; undefined means the pod's own. */
function graceOf(
  pod: Pod,
  { gracePeriodSeconds, maxGracePeriodSeconds: most }: DrainPolicy,
): number | undefined {
  const wanted = gracePeriodSeconds >= 0 ? gracePeriodSeconds : undefined;
  const own = isTerminating(pod) ? pod.deletionGraceSeconds : pod.graceSeconds;
  return most !== undefined && (wanted ?? own) > most ? most : wanted;
}

function candidateOf(
  view: DrainView,
  pod: Pod,
  wave: number,
  vmPod: VmPod | undefined,
  now: Temporal.Instant,
): EvictionCandidate {
  const { policy } = view.progress.request;
  const past = escalationFor(view, vmPod, now);
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
}

/** Returns a candidate whose end is only waited for. */
function goingByItself(pod: Pod, wave: number): EvictionCandidate {
  return { pod, wave, method: 'evict', escalated: false };
}

/** Wave after all others: the operator's own pod leaves when its work is done. */
const lastWave = Number.MAX_SAFE_INTEGER;

function isMorePermissive(one: EvictionCandidate, other: EvictionCandidate): boolean {
  return one.method === other.method
    ? one.mayStopVm === true && other.mayStopVm === undefined
    : one.method === 'delete';
}

/**
 * Returns every pod that at least one request wants gone, once; the request with the most powers
 * decides the method.
 */
function candidatesOf(
  views: readonly DrainView[],
  self: string | undefined,
  { vmPods }: VmAssessment,
  now: Temporal.Instant,
): readonly EvictionCandidate[] {
  const candidates = new Map<string, EvictionCandidate>();
  for (const view of views) {
    const stopped = isStopped(view);
    for (const { pod, behavior } of view.behaviors) {
      if (behavior.behavior !== 'evict' || (stopped && !isTerminating(pod))) continue;
      const known = candidates.get(pod.uid);
      const wave = pod.key === self ? lastWave : behavior.wave;
      const candidate = stopped
        ? goingByItself(pod, wave)
        : candidateOf(view, pod, wave, vmPods.get(pod.uid), now);
      if (known === undefined || isMorePermissive(candidate, known))
        candidates.set(pod.uid, candidate);
    }
  }
  return [...candidates.values()];
}

/**
 * The operator's own pod on the drained node: it leaves last, after handing over, and not at all
 * where no other pod could release the node later.
 */
type OwnPod = {
  readonly pod: string;
  readonly handedOver: boolean;
  readonly successor: Successor;
  /** Name of the same pod, if it is left on the node. */
  readonly stays?: string;
};

/** Returns the operator's own pod on this node; undefined if it runs on another node. */
function ownPodOn({ self, pods, inFlight }: NodeSnapshot): OwnPod | undefined {
  if (self === undefined || pods?.some(({ key }) => key === self.pod) !== true) return undefined;
  const { pod, handedOver } = self;
  const successor = successorOf(pod, { ...self, leaving: new Set(inFlight.map(({ uid }) => uid)) });
  return { pod, handedOver, successor, ...(successor.kind === 'none' && { stays: pod }) };
}

/** Seconds after which a replica that does not become ready counts as a problem for a person. */
const readyWithin = 120;

function blockerOf(pod: Pod, successor: Successor): BlockerInfo {
  const waits = { reason: 'EarlierWave', pod: about(pod) } as const;
  if (successor.kind !== 'coming')
    return { ...waits, message: "is the operator's own pod: evicted once another replica leads" };
  const message = `is the operator's own pod; another replica is to run before it goes: ${successor.why}`;
  const lasting = { reason: 'TooFewHealthy', afterSeconds: readyWithin } as const;
  return { ...waits, message, remedy: `look at what it waits for: ${successor.remedy}`, lasting };
}

/**
 * Removes the eviction of the operator's own pod from the plan until another replica runs or can
 * run: the next leader sends it, and this one only if no replica has taken over.
 */
function withoutOwn(
  planned: EvictionPlan,
  own: OwnPod | undefined,
): { readonly planned: EvictionPlan; readonly handOver: boolean } {
  const call = planned.calls.find(({ pod }) => pod.key === own?.pod);
  if (own === undefined || call === undefined) return { planned, handOver: false };
  const { successor, handedOver } = own;
  if (handedOver && successor.kind !== 'coming') return { planned, handOver: false };
  const calls = planned.calls.filter(one => one !== call);
  const blockerInfos = [...planned.blockerInfos, blockerOf(call.pod, successor)];
  return { planned: { ...planned, calls, blockerInfos }, handOver: successor.kind !== 'coming' };
}

/**
 * Returns the text about the operator's own pod if the drain of this request leaves it on the node.
 */
function stayOf({ behaviors }: DrainView, own: OwnPod | undefined): Pick<RequestProgress, 'stays'> {
  return own?.successor.kind === 'none' &&
    behaviors.some(
      ({ behavior }) => behavior.behavior === 'ignore' && behavior.reason === 'LastOperator',
    )
    ? { stays: staysText(own.pod, own.successor) }
    : {};
}

/**
 * Seconds for which a budget has to block a pod before the missing pods are looked up: most budgets
 * allow it earlier.
 */
const patience = 10;

/** Seconds between two lists of the pods of a namespace that are on no node. */
const lookEvery = 30;

/** Number of namespaces that are listed in one pass. */
const maxNamespaces = 3;

function waitsForOthers({ reason }: BlockerInfo): boolean {
  return reason === 'DisruptionBudget' || reason === 'ReplacementUnschedulable';
}

/**
 * Returns lookups for pods on no node. A budget that blocks for a while may miss a pod that has no
 * node: only the scheduler reports which pods and why, in the pods themselves. Nothing waits for
 * the response.
 */
export function strayLookups(
  { snapshot, now }: ReconcileContext,
  blockerInfos: readonly BlockerInfo[],
): { readonly lookups: readonly Lookup[]; readonly moments: readonly Temporal.Instant[] } {
  const { unscheduled, memo: notes } = snapshot;
  if (unscheduled === undefined) return { lookups: [], moments: [] };
  const due = new Map<string, Temporal.Instant>();
  for (const one of blockerInfos.filter(waitsForOthers)) {
    const namespace = one.pod?.namespace ?? '';
    const since = knownSince(one, notes.blockedSince) ?? now;
    const readAt = unscheduled.get(namespace)?.readAt;
    const at =
      readAt === undefined ? secondsAfter(since, patience) : secondsAfter(readAt, lookEvery);
    const before = due.get(namespace);
    if (before === undefined || isBefore(at, before)) due.set(namespace, at);
  }
  const isDue = (at: Temporal.Instant): boolean => !isBefore(now, at);
  const namespaces = [...due].filter(([, at]) => isDue(at)).map(([namespace]) => namespace);
  return {
    lookups: namespaces.slice(0, maxNamespaces).map(key => ({ kind: 'UnscheduledPods', key })),
    moments: [...due.values()].filter(at => !isDue(at)),
  };
}

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

/**
 * Name by RFC 1123, as the API server validates it for objects. It does not validate names of
 * owners: a pod with another owner name refers to nothing that can exist.
 */
const objectName = /^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$/;

/** Returns lookups for DaemonSets that pods of the node name and that no watch has delivered. */
function unknownOf({ pods = [], daemonSets, goneDaemonSets }: NodeSnapshot): readonly Lookup[] {
  if (daemonSets === undefined || goneDaemonSets === undefined) return [];
  const lookups = new Map<string, Lookup>();
  for (const { namespace, owner } of pods.filter(isDaemonSetPod)) {
    const { name, uid } = owner ?? { name: '', uid: '' };
    const key = `${namespace}/${name}`;
    if (objectName.test(name) && !daemonSets.has(key) && !goneDaemonSets.has(uid))
      lookups.set(uid, { kind: 'DaemonSet', key, uid });
  }
  return [...lookups.values()];
}

/**
 * Looks up unknown DaemonSets. Their watch may lag behind that of the pods, and a pod whose
 * DaemonSet counts as gone would be evicted although it belongs on the node: the API server is
 * queried first, as kubectl drain does.
 */
export const daemonSets: ReconcileStep = context => {
  const lookups = context.progresses.some(isDraining) ? unknownOf(context.snapshot) : [];
  return lookups.length === 0
    ? { done: true, context }
    : { done: false, context: { ...context, lookups: [...context.lookups, ...lookups] } };
};
