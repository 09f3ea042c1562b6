import { type Blocker, type BlockerInfo, blockerId, needsHelp, tellsProgress } from '../../drain/blockers/blocker.ts';
import { estimateEnd } from '../../drain/tally.ts';
import { mergePatch } from '../../json.ts';
import { pathOf } from '../../request/request.ts';
import type { MaintenanceState } from '../../request/words.ts';
import { fewOf } from '../../text.ts';
import { earliest, isBefore, secondsAfter } from '../../time.ts';
import { nothingTracked } from '../../vm/tracking.ts';
import { isOnItsWay } from '../../vm/vm-status.ts';
import type { KubeEvent, Write } from '../decision.ts';
import { statusPatch } from '../problem.ts';
import { announcement, type DrainProgress, hasNode, type ReconcileContext, type RequestProgress } from '../reconcile-context.ts';
import type { Report } from '../report.ts';
import type { Notes } from '../snapshot.ts';
import { givenBack } from './drain/escalation.ts';

/** Progress is written at most this often, in seconds; transitions at once. */
const progressEvery = 5;

/** And when nothing but the words about a blocker has changed, this often. */
const wordsEvery = 60;

const stateOf = ({ request, failure, granted, holds, drain }: RequestProgress): MaintenanceState => {
  if (failure !== undefined) return 'Failed';
  if (request.stage === 'Announce') return 'Announced';
  if (drain?.complete === true) return 'Drained';
  if (drain?.emptied === true) return 'Detaching';
  if (drain !== undefined) return 'Draining';
  if (!holds) return 'Pending';
  if (granted) return request.stage === 'Cordon' ? 'Cordoned' : 'Draining';
  return request.history.state ?? 'Pending';
};

/** There is something to say: the steps have come far enough for this request, or it is clear what keeps them. */
const isInformed = (progress: RequestProgress, finished: boolean): boolean =>
  progress.problem !== undefined ||
  progress.failure !== undefined ||
  (finished && (progress.granted || progress.request.stage === 'Announce'));

const order = (one: Blocker, other: Blocker): number =>
  Number(needsHelp(other)) - Number(needsHelp(one)) || (blockerId(one) < blockerId(other) ? -1 : 1);

const blockersOf = ({ drain, request }: RequestProgress, { snapshot, now }: ReconcileContext): readonly Blocker[] => {
  const since = (one: BlockerInfo): Temporal.Instant => {
    const id = blockerId(one);
    return snapshot.notes.blockedSince.get(id) ?? request.history.blockedSince.get(id) ?? now;
  };
  return (drain?.blockerInfos ?? []).map(one => ({ ...one, since: since(one) })).sort(order);
};

/** VMs take as long as they are big; pods leave at the rate seen so far. */
const endOf = (
  startedAt: Temporal.Instant,
  { count, vms, vmsMovedAt }: DrainProgress,
  now: Temporal.Instant,
): Temporal.Instant | undefined => {
  const pods = estimateEnd(startedAt, now, count);
  if (!vms.some(isOnItsWay)) return pods;
  return pods !== undefined && vmsMovedAt !== undefined && count.waiting > vms.filter(isOnItsWay).length && isBefore(vmsMovedAt, pods)
    ? pods
    : vmsMovedAt;
};

const timesOf = ({ request, drain, restarts }: RequestProgress, blockers: readonly Blocker[], now: Temporal.Instant): Partial<Report> => {
  const { history } = request;
  if (restarts) return {};
  const drainStartedAt = history.drainStartedAt ?? (drain === undefined ? undefined : now);
  const drainedAt = history.drainedAt ?? (drain?.complete === true ? now : undefined);
  const known = drainStartedAt !== undefined && drain !== undefined && drainedAt === undefined && !blockers.some(needsHelp);
  const estimatedEnd = known ? endOf(drainStartedAt, drain, now) : undefined;
  return { ...(drainStartedAt && { drainStartedAt }), ...(drainedAt && { drainedAt }), ...(estimatedEnd && { estimatedEnd }) };
};

const vmsOf = (
  drain: DrainProgress | undefined,
  { vms: tracked = nothingTracked }: ReconcileContext,
): Pick<Report, 'vms' | 'vmsBefore'> => {
  const { moved, stopped } = tracked.before;
  return drain === undefined || drain.vms.length + moved + stopped === 0 ? {} : { vms: drain.vms, vmsBefore: tracked.before };
};

const reportOf = (progress: RequestProgress, context: ReconcileContext): Report => {
  const { drain, failure, leaseErrors, holds } = progress;
  const problem = progress.problem ?? (failure === undefined ? context.snapshot.trouble : failure === 'GivenBack' ? givenBack : undefined);
  const blockers = blockersOf(progress, context);
  return {
    state: stateOf(progress),
    held: holds,
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
};

const blockedText = ({ pod, volume, message }: Blocker): string =>
  `${pod ? `${pod.namespace}/${pod.name}` : (volume ?? 'the drain')}: ${message}`;

/** What somebody has to help with and was not blocked before, of kinds that store their blockers. */
const newlyBlocked = ({ request }: RequestProgress, { state, blockers }: Report): readonly KubeEvent[] => {
  const stuck = blockers.filter(needsHelp);
  const { blockedSince } = request.history;
  if (state !== 'Draining' || !request.adapter.namesBlockers || stuck.every(blocker => blockedSince.has(blockerId(blocker)))) return [];
  return [announcement(request, 'Warning', { reason: 'DrainBlocked', message: fewOf(stuck.map(blockedText), 5) })];
};

const announcements = (progress: RequestProgress, report: Report): readonly KubeEvent[] => {
  const { request } = progress;
  const { state } = report;
  const { state: before } = request.history;
  if (state === before) return newlyBlocked(progress, report);
  if (state === 'Drained') return [announcement(request, 'Normal', request.adapter.events.succeeded)];
  if (state === 'Failed') return [announcement(request, 'Warning', request.adapter.events.failed)];
  return newlyBlocked(progress, report);
};

/** One report and what is to be written of it. */
export type Reported = {
  readonly progress: RequestProgress;
  readonly report: Report;
  readonly write?: Write;
  readonly again?: Temporal.Instant;
};

/** Of a responder's own words people go by; those of budgets change with every count. */
const wordOf = (blocker: Blocker): readonly string[] => [blockerId(blocker), ...(tellsProgress(blocker) ? [blocker.message] : [])];

/** What a report comes to. Budgets count anew all the time; that alone is not worth a write. */
const gistOf = ({ state, pods, problem, failure, blockers, vms }: Report, generation: number): string =>
  JSON.stringify([state, pods, problem, failure, generation, blockers.map(wordOf), vms?.map(vm => [vm.id, vm.state, vm.target])]);

/** When the status may be written next, unless it is a transition; undefined: it may be now. */
const dueAt = ({ request }: RequestProgress, report: Report, { snapshot }: ReconcileContext): Temporal.Instant | undefined => {
  const last = snapshot.notes.reported.get(request.key);
  if (last === undefined) return undefined;
  const pause = last.gist === gistOf(report, request.generation) ? wordsEvery : progressEvery;
  return earliest([secondsAfter(last.at, pause), request.adapter.readsDifferentlyAt(report, last.at)]);
};

const statusWrite = (progress: RequestProgress, report: Report, context: ReconcileContext): Pick<Reported, 'write' | 'again'> => {
  const { request } = progress;
  const { state, leaseErrors } = request.history;
  const isTransition = report.state !== state || report.leaseErrors !== leaseErrors;
  const due = dueAt(progress, report, context);
  // Not even looked at before it is due: most looks at a node come from its pods leaving one by one.
  if (!isTransition && due !== undefined && isBefore(context.now, due)) return { again: due };
  const patch = mergePatch(request.status, request.adapter.status(report, request, context.now));
  const later = request.adapter.readsDifferentlyAt(report, context.now);
  const again = later && { again: later };
  if (patch === undefined) return { ...again };
  return { ...again, write: { ...statusPatch(request, report.state, patch), announce: announcements(progress, report) } };
};

/**
 * What there is to say of each request, and the writes that say it: only what differs from what is stored. `finished`: all steps before
 * have had their turn. A request that is written to for another reason is left for the next look.
 */
export const reports = (context: ReconcileContext, finished: boolean): readonly Reported[] => {
  const touched = new Set(context.writes.map(({ path }) => path));
  return context.progresses
    .filter(progress => isInformed(progress, finished) || context.snapshot.trouble !== undefined)
    .filter(({ request }) => !touched.has(pathOf(request)))
    .map(progress => {
      const report = reportOf(progress, context);
      return { progress, report, ...statusWrite(progress, report, context) };
    });
};

/** The notes for the next look. */
export const notesAfter = (context: ReconcileContext, reported: readonly Reported[]): Notes => {
  const { notes, requests } = context.snapshot;
  const present = new Set(requests.map(({ key }) => key));
  const kept = <T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] => [...map].filter(([key]) => present.has(key));
  const tallies = context.progresses.flatMap(({ request, drain }) => (drain ? [[request.key, drain.tally] as const] : []));
  const written = reported.flatMap(({ progress: { request }, report, write }) =>
    write ? [[request.key, { at: context.now, gist: gistOf(report, request.generation) }] as const] : [],
  );
  const drained = context.progresses.some(({ drain }) => drain !== undefined);
  const holders = context.progresses.filter(hasNode);
  return {
    tallies: new Map([...kept(notes.tallies), ...tallies]),
    recreations: context.plan.recreations,
    recalled: context.recalled,
    ...(context.vms && { vms: context.vms }),
    seat: context.snapshot.node?.holdRecord === undefined && holders.length > 0,
    holding: new Set(context.snapshot.node?.holdRecord === undefined ? [] : holders.map(({ request }) => request.uid)),
    reported: new Map([...kept(notes.reported), ...written]),
    blockedSince: drained
      ? new Map(reported.flatMap(({ report }) => report.blockers.map(blocker => [blockerId(blocker), blocker.since] as const)))
      : notes.blockedSince,
    ...(context.leaseMissedAt && { leaseMissedAt: context.leaseMissedAt }),
  };
};
