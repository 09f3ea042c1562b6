import type { KubeEvent } from '@drydock/apimachinery';
import {
  earliest,
  isBefore,
  saysText,
  secondsAfter,
  statusChange,
  timeText,
} from '@drydock/apimachinery';
import {
  type Blocker,
  type BlockerInfo,
  blockerId,
  eachReasonFirst,
  fewOfEachReason,
  knownSince,
  needsHelp,
  reasonOfId,
  tellsProgress,
} from '../../drain/blockers/blocker.ts';
import { estimateEnd } from '../../drain/drain-counter.ts';
import { nothingTracked } from '../../drain/vm/vm-pod-decision.ts';
import { type MaintenanceState, pathOf, type Report } from '../../request/request.ts';
import { isOnItsWay } from '../../vm/vm-status.ts';
import type { Write } from '../../write.ts';
import { carriesMarks, statusPatch, workBlocker } from '../decision.ts';
import {
  type DrainProgress,
  firstProgress,
  hasNode,
  kubeEventFor,
  type ReconcileContext,
  type RequestProgress,
} from '../reconcile-context.ts';
import type { ReconcileMemo, Restored } from '../snapshot.ts';
import { isClaimed } from './claim.ts';
import { released } from './drain/view.ts';

/** Seconds between two writes of progress; transitions are written at once. */
const progressEvery = 5;

/** Seconds between two writes when only the text of a blocker has changed. */
const wordsEvery = 60;

function stateOf(
  { request, failure, granted, holds, drain, lingers }: RequestProgress,
  isHeld: boolean,
): MaintenanceState {
  // The node stays as it was at the deletion: nothing more is evaluated.
  if (lingers && request.history.state !== undefined) return request.history.state;
  if (failure !== undefined) return 'Failed';
  if (request.level === 'Announce') return 'Announced';
  if (drain?.complete === true) return 'Drained';
  if (drain?.emptied === true) return 'Detaching';
  if (drain !== undefined) return 'Draining';
  if (granted && isHeld) return request.level === 'Cordon' ? 'Cordoned' : 'Draining';
  return holds ? (request.history.state ?? 'Pending') : 'Pending';
}

/**
 * Reports whether a report is possible: the steps have come far enough for this request, or the
 * obstacle is known.
 */
function isInformed(progress: RequestProgress, finished: boolean): boolean {
  return (
    progress.problem !== undefined ||
    progress.failure !== undefined ||
    (finished && (progress.granted || progress.request.level === 'Announce'))
  );
}

function order(one: Blocker, other: Blocker): number {
  return (
    Number(needsHelp(other)) - Number(needsHelp(one)) ||
    (blockerId(one) < blockerId(other) ? -1 : 1)
  );
}

function sinceOf(
  one: BlockerInfo,
  { request }: RequestProgress,
  { snapshot, now }: ReconcileContext,
): Temporal.Instant {
  return knownSince(one, snapshot.memo.blockedSince, request.history.blockedSince) ?? now;
}

function blockerOf(
  { lasting, ...one }: BlockerInfo,
  since: Temporal.Instant,
  now: Temporal.Instant,
): Blocker {
  return lasting !== undefined && !isBefore(now, secondsAfter(since, lasting.afterSeconds))
    ? { ...one, reason: lasting.reason, since }
    : { ...one, since };
}

function infosOf({ drain, request, lingers }: RequestProgress): readonly BlockerInfo[] {
  return [...(lingers ? [workBlocker(request)] : []), ...(drain?.blockerInfos ?? [])];
}

function blockersOf(progress: RequestProgress, context: ReconcileContext): readonly Blocker[] {
  return eachReasonFirst(
    infosOf(progress)
      .map(one => blockerOf(one, sinceOf(one, progress, context), context.now))
      .sort(order),
  );
}

/** Returns the time at which the first blocker that usually passes counts as lasting. */
function lastingAt(
  progress: RequestProgress,
  context: ReconcileContext,
): Temporal.Instant | undefined {
  return earliest(
    infosOf(progress).flatMap(one => {
      const at =
        one.lasting && secondsAfter(sinceOf(one, progress, context), one.lasting.afterSeconds);
      return at !== undefined && isBefore(context.now, at) ? [at] : [];
    }),
  );
}

/** Estimates the end: VMs take as long as they are big; pods leave at the rate seen so far. */
function endOf(
  startedAt: Temporal.Instant,
  { count, vms, vmsMovedAt }: DrainProgress,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const pods = estimateEnd(startedAt, now, count);
  if (!vms.some(isOnItsWay)) return pods;
  return pods !== undefined &&
    vmsMovedAt !== undefined &&
    count.waiting > vms.filter(isOnItsWay).length &&
    isBefore(vmsMovedAt, pods)
    ? pods
    : vmsMovedAt;
}

function timesOf(
  { request, drain, restarts }: RequestProgress,
  blockers: readonly Blocker[],
  now: Temporal.Instant,
): Partial<Report> {
  const { history } = request;
  if (restarts) return {};
  const drainStartedAt = history.drainStartedAt ?? (drain === undefined ? undefined : now);
  const drainedAt = history.drainedAt ?? (drain?.complete === true ? now : undefined);
  const known =
    drainStartedAt !== undefined &&
    drain !== undefined &&
    drainedAt === undefined &&
    !blockers.some(needsHelp);
  const estimatedEnd = known ? endOf(drainStartedAt, drain, now) : undefined;
  return {
    ...(drainStartedAt && { drainStartedAt }),
    ...(drainedAt && { drainedAt }),
    ...(estimatedEnd && { estimatedEnd }),
  };
}

function vmsOf(
  drain: DrainProgress | undefined,
  { vms: tracked = nothingTracked }: ReconcileContext,
): Pick<Report, 'vms' | 'vmsBefore'> {
  const { moved, stopped } = tracked.before;
  return drain === undefined || drain.vms.length + moved + stopped === 0
    ? {}
    : { vms: drain.vms, vmsBefore: tracked.before };
}

function contestedText({ count, since, by }: Restored): string {
  return `marks of the maintenance were removed from the node ${count === 1 ? 'once' : `${count} times`} since ${timeText(since)}${by === undefined ? '' : `, by ${by} as it seems`}, and put back`;
}

function reportOf(progress: RequestProgress, context: ReconcileContext): Report {
  const { drain, failure, leaseErrors, holds } = progress;
  const problem =
    progress.problem ??
    (failure === undefined
      ? context.snapshot.trouble
      : failure === 'Released'
        ? released
        : undefined);
  const blockers = blockersOf(progress, context);
  const { node } = context.snapshot;
  const held = holds && node !== undefined && carriesMarks(node, progress.request);
  return {
    state: stateOf(progress, held),
    held,
    ...(context.restored && { contested: contestedText(context.restored) }),
    ...(progress.stays !== undefined && { stays: progress.stays }),
    leaseErrors,
    waiting: drain?.waiting ?? [],
    blockers,
    ...vmsOf(drain, context),
    ...(failure !== undefined && { failure }),
    ...(problem !== undefined && { problem }),
    ...(drain !== undefined && { pods: { ...drain.count, total: drain.total } }),
    ...timesOf(progress, blockers, context.now),
    ...(progress.startsAt && { startsAt: progress.startsAt }),
  };
}

function blockedText({ pod, volume, message }: Blocker): string {
  return `${pod ? `${pod.namespace}/${pod.name}` : (volume ?? 'the drain')}: ${message}`;
}

/**
 * Returns a predicate for blockers that are already reported: those of the last report, or, after a
 * restart, the stored ones.
 */
function isTold(
  { request }: RequestProgress,
  { snapshot }: ReconcileContext,
): (blocker: Blocker) => boolean {
  const last = snapshot.memo.reported.get(request.key);
  if (last !== undefined) return blocker => last.stuck.has(blockerId(blocker));
  const { blockedSince, blockerCount = 0 } = request.history;
  // Only some are stored where there are many: blockers of a reason that is among them count as
  // reported.
  const reasons = new Set(
    blockerCount > blockedSince.size ? [...blockedSince.keys()].map(reasonOfId) : [],
  );
  return blocker => blockedSince.has(blockerId(blocker)) || reasons.has(blocker.reason);
}

/** Returns the event for new blockers that need help, for kinds that store their blockers. */
function newlyBlocked(
  progress: RequestProgress,
  { state, blockers }: Report,
  context: ReconcileContext,
): readonly KubeEvent[] {
  const { request } = progress;
  const stuck = blockers.filter(needsHelp);
  const isDrained = state === 'Draining' || state === 'Detaching';
  if (!isDrained || !request.adapter.namesBlockers || stuck.every(isTold(progress, context)))
    return [];
  return [
    kubeEventFor(request, 'Warning', {
      reason: 'DrainBlocked',
      message: fewOfEachReason(stuck, blockedText),
    }),
  ];
}

/** Returns the event for a node that cannot be written to, unless the status reports it already. */
function refusedWrite({ request }: RequestProgress, { problem }: Report): readonly KubeEvent[] {
  return problem?.reason !== 'WriteRefused' || saysText(request.status, problem.message)
    ? []
    : [kubeEventFor(request, 'Warning', problem)];
}

/**
 * Returns the event for the operator's own pod: kinds that store no sentence have no other place
 * for it.
 */
function leftBehind({ request }: RequestProgress, { stays }: Report): readonly KubeEvent[] {
  return stays === undefined
    ? []
    : [kubeEventFor(request, 'Warning', { reason: 'OperatorStays', message: stays })];
}

function announcements(
  progress: RequestProgress,
  report: Report,
  context: ReconcileContext,
): readonly KubeEvent[] {
  const { request } = progress;
  const { state } = report;
  const { state: before } = request.history;
  // Pods that come to a drained node leave it again: that the node is drained is an event only
  // once.
  const isFirst = request.history.drainedAt === undefined;
  if (state !== before && state === 'Drained')
    return [
      ...(isFirst ? [kubeEventFor(request, 'Normal', request.adapter.events.succeeded)] : []),
      ...leftBehind(progress, report),
    ];
  if (state !== before && state === 'Failed')
    return [kubeEventFor(request, 'Warning', request.adapter.events.failed)];
  return [...refusedWrite(progress, report), ...newlyBlocked(progress, report, context)];
}

/** Report of one request, and its write. */
export type Reported = {
  readonly progress: RequestProgress;
  readonly report: Report;
  readonly write?: Write;
  readonly requeueAt?: Temporal.Instant;
};

/**
 * Returns the parts of a blocker that count as a change. People rely on a responder's text; the
 * text of budgets changes with every count.
 */
function wordOf(blocker: Blocker): readonly string[] {
  return [blockerId(blocker), ...(tellsProgress(blocker) ? [blocker.message] : [])];
}

/**
 * Returns the gist of a report. Budgets count again all the time; that alone is not worth a write.
 */
function gistOf(
  { state, pods, problem, failure, blockers, vms, stays }: Report,
  generation: number,
  restored: Restored | undefined,
): string {
  return JSON.stringify([
    state,
    pods,
    problem,
    failure,
    stays,
    generation,
    blockers.map(wordOf),
    vms?.map(vm => [vm.id, vm.state, vm.target]),
    // A doubled count is news.
    restored && [restored.by, Math.floor(Math.log2(restored.count))],
  ]);
}

/**
 * Returns the earliest time of the next write of the status, unless it is a transition; undefined:
 * now.
 */
function dueAt(
  { request }: RequestProgress,
  report: Report,
  { snapshot, restored }: ReconcileContext,
): Temporal.Instant | undefined {
  const last = snapshot.memo.reported.get(request.key);
  if (last === undefined) return undefined;
  const pause =
    last.gist === gistOf(report, request.generation, restored) ? wordsEvery : progressEvery;
  return earliest([
    secondsAfter(last.at, pause),
    request.adapter.readsDifferentlyAt(report, last.at),
  ]);
}

function statusWrite(
  progress: RequestProgress,
  report: Report,
  context: ReconcileContext,
): Pick<Reported, 'write' | 'requeueAt'> {
  const { request } = progress;
  const { state, leaseErrors } = request.history;
  const isTransition = report.state !== state || report.leaseErrors !== leaseErrors;
  const due = dueAt(progress, report, context);
  // The status is not even computed before it is due: most passes of a node come from pods that
  // leave one after the other.
  if (!isTransition && due !== undefined && isBefore(context.now, due)) return { requeueAt: due };
  const patch = statusChange(request.status, request.adapter.status(report, request, context.now));
  const later = request.adapter.readsDifferentlyAt(report, context.now);
  const requeueAt = later && { requeueAt: later };
  if (patch === undefined) return { ...requeueAt };
  return {
    ...requeueAt,
    write: {
      ...statusPatch(request, report.state, patch),
      events: announcements(progress, report, context),
    },
  };
}

function reported(progress: RequestProgress, context: ReconcileContext): Reported {
  const report = reportOf(progress, context);
  const written = statusWrite(progress, report, context);
  const requeueAt = earliest([written.requeueAt, lastingAt(progress, context)]);
  return { progress, report, ...written, ...(requeueAt && { requeueAt }) };
}

/**
 * Returns the report of each request, and the writes that store it: only differences from the
 * stored status. `finished`: all steps before have run. A request that this pass already writes to
 * is left for the next pass.
 */
export function reports(context: ReconcileContext, finished: boolean): readonly Reported[] {
  const touched = new Set(context.writes.map(({ path }) => path));
  return context.progresses
    .filter(progress => isInformed(progress, finished) || context.snapshot.trouble !== undefined)
    .filter(({ request }) => !touched.has(pathOf(request)))
    .map(progress => reported(progress, context));
}

/**
 * Returns reports for requests that could not be claimed because the API server refused a write: if
 * the claim itself was refused, nothing else shows why nothing begins. If the claim is stored this
 * time, this write is a conflict, and the next pass reports correctly.
 */
export function refusedClaims(context: ReconcileContext): readonly Reported[] {
  return context.snapshot.trouble === undefined
    ? []
    : context.snapshot.requests
        .filter(request => !request.deleting && !isClaimed(request))
        .map(request => reported(firstProgress(request), context));
}

function stuckIn({ blockers }: Report): ReadonlySet<string> {
  return new Set(blockers.filter(needsHelp).map(blockerId));
}

/** Returns the memo for the next pass. */
export function memoAfter(context: ReconcileContext, reported: readonly Reported[]): ReconcileMemo {
  const { memo: notes, requests } = context.snapshot;
  const present = new Set(requests.map(({ key }) => key));
  const kept = <T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] =>
    [...map].filter(([key]) => present.has(key));
  const tallies = context.progresses.flatMap(({ request, drain }) =>
    drain ? [[request.key, drain.tally] as const] : [],
  );
  const written = reported.flatMap(({ progress: { request }, report, write }) =>
    write
      ? [
          [
            request.key,
            {
              at: context.now,
              gist: gistOf(report, request.generation, context.restored),
              stuck: stuckIn(report),
            },
          ] as const,
        ]
      : [],
  );
  const drained = context.progresses.some(({ drain }) => drain !== undefined);
  const holders = context.progresses.filter(hasNode);
  return {
    tallies: new Map([...kept(notes.tallies), ...tallies]),
    recreations: context.plan.recreations,
    recalled: context.recalled,
    ...(context.vms && { vms: context.vms }),
    ...(context.residents && { residents: context.residents }),
    ...(context.restored && { restored: context.restored }),
    seat: context.snapshot.node?.holdRecord === undefined && holders.length > 0,
    holding: new Set(
      context.snapshot.node?.holdRecord === undefined
        ? []
        : holders.map(({ request }) => request.uid),
    ),
    reported: new Map([...kept(notes.reported), ...written]),
    blockedSince: drained
      ? new Map(
          reported.flatMap(({ report }) =>
            report.blockers.map(blocker => [blockerId(blocker), blocker.since] as const),
          ),
        )
      : notes.blockedSince,
    ...(context.leaseMissedAt && { leaseMissedAt: context.leaseMissedAt }),
  };
}
