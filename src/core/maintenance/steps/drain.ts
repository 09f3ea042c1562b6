import type { Hindrance } from '../../drain/blocker.ts';
import { type Circumstances, type Fate, judge } from '../../drain/filters.ts';
import { type Leaver, type Plan, plan, type Surroundings } from '../../drain/plan.ts';
import { addTally, countOf, startTally } from '../../drain/tally.ts';
import { byKey, isTerminating, type Pod, terminatingSince } from '../../pod/pod.ts';
import { type DrainPolicy, type Rung, rungAt } from '../../request/policy.ts';
import { leaseKey, leaseNames } from '../../request/request.ts';
import { earliest, secondsAfter, secondsBetween } from '../../time.ts';
import { shutDownAt } from '../../vm/shut-down.ts';
import type { Guest } from '../../vm/vm-pod.ts';
import { type Course, type DrainStanding, isDraining, type Standing, type Step } from '../reconcile-context.ts';
import { lookAtVms, type VmsLook } from './drain-vms.ts';

/** One request's view of the pods. */
type View = {
  readonly standing: Standing;
  readonly rung?: Rung;
  readonly fates: readonly { readonly pod: Pod; readonly fate: Fate }[];
};

/** The rung in force. The ladder is for the drain, not for pods that come after it was complete. */
const rungOf = ({ request }: Standing, now: Temporal.Instant): Rung | undefined => {
  const { drainStartedAt, drainedAt } = request.history;
  if (drainStartedAt === undefined || drainedAt !== undefined) return undefined;
  return rungAt(request.policy.ladder, secondsBetween(drainStartedAt, now));
};

/** When the next rung comes into force. */
const nextRung = ({ request }: Standing, now: Temporal.Instant): Temporal.Instant | undefined => {
  const start = request.history.drainStartedAt ?? now;
  if (request.history.drainedAt !== undefined) return undefined;
  const next = request.policy.ladder.find(({ afterSeconds }) => afterSeconds > secondsBetween(start, now));
  return next && secondsAfter(start, next.afterSeconds);
};

/** When the first VM that cannot move is to be shut down. */
const nextShutDown = (
  { request: { policy, history } }: Standing,
  { guests }: VmsLook,
  now: Temporal.Instant,
): Temporal.Instant | undefined => {
  const times = [...guests.values()].map(guest => shutDownAt(guest, policy.virtualMachines, history.drainStartedAt ?? now, now));
  return earliest(times.map(time => (time === 'now' ? undefined : time)));
};

/** When pods that have been terminating for too long stop to count. */
const waitsEnd = ({ standing, fates }: View): readonly Temporal.Instant[] => {
  const { skipWaitForDeleteTimeoutSeconds: wait } = standing.request.policy;
  if (wait <= 0) return [];
  return fates.flatMap(({ pod, fate }) => {
    const since = fate.fate === 'evict' ? terminatingSince(pod) : undefined;
    return since ? [secondsAfter(since, wait + 1)] : [];
  });
};

const viewOf = (standing: Standing, pods: readonly Pod[], circumstances: Circumstances): View => {
  const { now } = circumstances;
  const rung = rungOf(standing, now);
  const fates = pods.map(pod => ({ pod, fate: judge(pod, standing.request.policy, circumstances) }));
  return { standing, fates, ...(rung && { rung }) };
};

type Judged = View['fates'][number];

/** It is not the drain's business. */
const stays = ({ fate }: Judged): boolean => fate.fate === 'ignore';

const isEmpty = ({ fates }: View): boolean => fates.every(stays);

const uidOf = ({ pod }: Judged): string => pod.uid;

const about = ({ namespace, name }: Pod): { readonly namespace: string; readonly name: string } => ({ namespace, name });

const fateHindrance = (pod: Pod, fate: Fate): Hindrance | undefined => {
  if (fate.fate === 'refuse') return { cause: fate.reason, pod: about(pod), message: fate.message, remedy: fate.remedy };
  if (fate.fate === 'await') {
    const goesAlong = fate.reason === 'GoesWithItsVm';
    const message = goesAlong ? 'is a volume of a VM, and goes with it' : 'is left to finish by itself, as the policy says';
    return { cause: goesAlong ? 'EarlierWave' : fate.reason, pod: about(pod), message };
  }
  return undefined;
};

/** A refused pod stops the whole drain of its request, as it stops kubectl's: no pod is moved for a node that cannot be emptied. */
const isStopped = ({ fates }: View): boolean => fates.some(({ fate }) => fate.fate === 'refuse');

/** Undefined: the pod's own. */
const graceOf = ({ graceSeconds }: Pod, { gracePeriodSeconds, maxGracePeriodSeconds: most }: DrainPolicy): number | undefined => {
  const wanted = gracePeriodSeconds >= 0 ? gracePeriodSeconds : undefined;
  return most !== undefined && (wanted ?? graceSeconds) > most ? most : wanted;
};

/** The rung in force, or the policy for VMs that cannot move: what goes past an eviction, and with how long to end. */
const pastEviction = ({ standing, rung }: View, guest: Guest | undefined, now: Temporal.Instant): Partial<Leaver> => {
  const { policy, history } = standing.request;
  if (rung?.action === 'Delete') {
    return {
      method: 'delete',
      escalated: true,
      ...(rung.gracePeriodSeconds !== undefined && { gracePeriodSeconds: rung.gracePeriodSeconds }),
    };
  }
  const { virtualMachines: vms } = policy;
  if (guest === undefined || shutDownAt(guest, vms, history.drainStartedAt ?? now, now) !== 'now') return {};
  const grace = vms.shutDownGracePeriodSeconds;
  return { method: 'delete', escalated: true, shutsDownVm: true, ...(grace !== undefined && { gracePeriodSeconds: grace }) };
};

const leaverOf = (view: View, pod: Pod, wave: number, guest: Guest | undefined, now: Temporal.Instant): Leaver => {
  const { policy } = view.standing.request;
  const past = pastEviction(view, guest, now);
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

const mayMore = (one: Leaver, other: Leaver): boolean =>
  one.method === other.method ? one.mayStopVm === true && other.mayStopVm === undefined : one.method === 'delete';

/** Every pod that at least one request wants gone, once; the request that may do most decides how. */
const leaversOf = (views: readonly View[], self: string | undefined, { guests }: VmsLook, now: Temporal.Instant): readonly Leaver[] => {
  const leavers = new Map<string, Leaver>();
  for (const view of views) {
    const stopped = isStopped(view);
    for (const { pod, fate } of view.fates) {
      if (fate.fate !== 'evict' || (stopped && !isTerminating(pod))) continue;
      const known = leavers.get(pod.uid);
      const leaver = leaverOf(view, pod, pod.key === self ? lastWave : fate.wave, guests.get(pod.uid), now);
      if (known === undefined || mayMore(leaver, known)) leavers.set(pod.uid, leaver);
    }
  }
  return [...leavers.values()];
};

type Looked = { readonly pods: readonly Pod[]; readonly hindrances: ReadonlyMap<string, Hindrance>; readonly vms: VmsLook };

const standingAfter = (view: View, { pods, hindrances, vms }: Looked, course: Course): DrainStanding => {
  const { request } = view.standing;
  const left = view.fates.filter(one => !stays(one));
  const before = course.picture.notes.tallies.get(request.key) ?? startTally(request.history, left.length);
  const tally = addTally(before, left.map(uidOf), view.fates.filter(stays).map(uidOf));
  const count = countOf(tally, left.length);
  const own = left.flatMap(({ pod, fate }) => fateHindrance(pod, fate) ?? hindrances.get(pod.key) ?? []);
  return {
    tally,
    count,
    total: count.toEvict + pods.length - left.length,
    waiting: left.map(({ pod }) => about(pod)),
    hindrances: own,
    emptied: left.length === 0,
    complete: left.length === 0,
    vms: vms.standingsOf(view.fates),
    ...(vms.movedAt && { vmsMovedAt: vms.movedAt }),
  };
};

const outOfTime = { reason: 'DeadlineExceeded', message: 'the drain was not complete in time; the node stays held' };

/** What is said of a request whose policy gave the node back. */
export const givenBack = { reason: 'GivenBack', message: 'the drain was not complete in time; the node is given back' };

/** A rung that ends the drain; undefined as long as it goes on. */
const ended = (view: View): Pick<Standing, 'failure' | 'problem' | 'holds'> | undefined => {
  const { standing, rung } = view;
  if (standing.paused) return { holds: true };
  if (standing.failure === 'DeadlineExceeded') {
    return { failure: 'DeadlineExceeded', holds: true, problem: outOfTime };
  }
  if (rung === undefined || isEmpty(view)) return undefined;
  if (rung.action === 'Fail') return { failure: 'DeadlineExceeded', holds: true, problem: outOfTime };
  if (rung.action === 'Release') return { failure: 'GivenBack', holds: true, problem: givenBack };
  return undefined;
};

/** The lease was acquired just before the node was held, and says so for as long as it is. */
const surroundingsOf = ({ picture, now }: Course, draining: readonly Standing[], { guests }: VmsLook): Surroundings => {
  const { budgets, flights, attempts, leases, notes, nodeName, vms } = picture;
  const acquired = leaseNames(
    draining.map(({ request }) => request.dialect),
    nodeName,
  ).map(name => leases.get(leaseKey(name))?.acquireTime);
  const heldSince = earliest(acquired);
  const known = { nodeName, budgets, flights, attempts, returns: notes.returns, guests, now };
  return { ...known, ...(vms && { vms }), ...(heldSince && { heldSince }) };
};

/** The operator does not ask for its own eviction: whoever leads after it does. */
const withoutSelf = (planned: Plan, self: string | undefined): { readonly planned: Plan; readonly handOver: boolean } => {
  const own = planned.calls.find(({ pod }) => pod.key === self);
  if (own === undefined) return { planned, handOver: false };
  const message = "is the operator's own pod; another replica is to lead before it goes";
  const hindrance: Hindrance = { cause: 'EarlierWave', pod: about(own.pod), message };
  const calls = planned.calls.filter(call => call !== own);
  return { planned: { ...planned, calls, hindrances: [...planned.hindrances, hindrance] }, handOver: true };
};

/**
 * Judges every pod under every request, plans what may be asked for now, and says how far each request is. Nothing is evicted before the
 * hold has been seen: this step has its turn only then.
 */
export const drain: Step = start => {
  const draining = start.standings.filter(isDraining);
  const { pods, podsConfirmed } = start.picture;
  if (draining.length === 0) return { done: true, course: start };
  const course = { ...start, confirmPods: !podsConfirmed };
  if (pods === undefined) return { done: false, course };
  const sorted = pods.toSorted(byKey);
  const vms = lookAtVms(course, sorted);
  const circumstances = { now: course.now, daemonSets: course.picture.daemonSets, guests: vms.guests };
  const views = draining.map(standing => viewOf(standing, sorted, circumstances));
  // The pods may have been read before the hold was in place: only a later list can say that none is left.
  if (!podsConfirmed && views.some(isEmpty)) return { done: false, course };
  const going = views.filter(view => ended(view) === undefined);
  const leavers = leaversOf(going, course.picture.self, vms, course.now);
  const { planned, handOver } = withoutSelf(plan(leavers, surroundingsOf(course, draining, vms)), course.picture.self);
  const hindrances = new Map(planned.hindrances.flatMap(one => (one.pod ? [[`${one.pod.namespace}/${one.pod.name}`, one] as const] : [])));
  const after = new Map(
    views.map(view => {
      const { standing } = view;
      const drain = standingAfter(view, { pods: sorted, hindrances, vms }, course);
      return [standing.request.key, { ...standing, ...ended(view), drain }] as const;
    }),
  );
  const moments = [
    planned.again,
    ...views.flatMap(waitsEnd),
    ...draining.flatMap(standing => [nextRung(standing, course.now), nextShutDown(standing, vms, course.now)]),
  ];
  return {
    done: true,
    course: {
      ...course,
      plan: planned,
      handOver,
      ...(vms.tracked && { vms: vms.tracked }),
      mayLeave: new Set(leavers.map(({ pod }) => pod.uid)),
      standings: course.standings.map(standing => after.get(standing.request.key) ?? standing),
      moments: [...course.moments, ...moments.filter(moment => moment !== undefined)],
    },
  };
};
