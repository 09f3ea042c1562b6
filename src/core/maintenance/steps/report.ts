import { type Blocker, blockerId, type Hindrance, needsHelp } from '../../drain/blocker.ts';
import { estimateEnd } from '../../drain/tally.ts';
import { mergePatch } from '../../json.ts';
import { pathOf } from '../../request/request.ts';
import type { State } from '../../request/words.ts';
import { earliest, isBefore, secondsAfter } from '../../time.ts';
import { nothingTracked } from '../../vm/tracking.ts';
import { isOnItsWay } from '../../vm/vm-status.ts';
import type { Announcement, Write } from '../decision.ts';
import { statusPatch } from '../problem.ts';
import { announcement, type Course, type DrainStanding, type Standing } from '../reconcile-context.ts';
import type { Report } from '../report.ts';
import type { Notes } from '../snapshot.ts';
import { givenBack } from './drain.ts';

/** Progress is written at most this often, in seconds; transitions at once. */
const progressEvery = 5;

/** And when nothing but the words about a blocker has changed, this often. */
const wordsEvery = 60;

const stateOf = ({ request, failure, granted, holds, drain }: Standing): State => {
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
const isInformed = (standing: Standing, finished: boolean): boolean =>
  standing.problem !== undefined ||
  standing.failure !== undefined ||
  (finished && (standing.granted || standing.request.stage === 'Announce'));

const order = (one: Blocker, other: Blocker): number =>
  Number(needsHelp(other)) - Number(needsHelp(one)) || (blockerId(one) < blockerId(other) ? -1 : 1);

const blockersOf = ({ drain, request }: Standing, { picture, now }: Course): readonly Blocker[] => {
  const since = (one: Hindrance): Temporal.Instant => {
    const id = blockerId(one);
    return picture.notes.blockedSince.get(id) ?? request.history.blockedSince.get(id) ?? now;
  };
  return (drain?.hindrances ?? []).map(one => ({ ...one, since: since(one) })).sort(order);
};

/** VMs take as long as they are big; pods leave at the rate seen so far. */
const endOf = (
  startedAt: Temporal.Instant,
  { count, vms, vmsMovedAt }: DrainStanding,
  now: Temporal.Instant,
): Temporal.Instant | undefined => {
  const pods = estimateEnd(startedAt, now, count);
  if (!vms.some(isOnItsWay)) return pods;
  return pods !== undefined && vmsMovedAt !== undefined && count.waiting > vms.filter(isOnItsWay).length && isBefore(vmsMovedAt, pods)
    ? pods
    : vmsMovedAt;
};

const timesOf = ({ request, drain, restarts }: Standing, blockers: readonly Blocker[], now: Temporal.Instant): Partial<Report> => {
  const { history } = request;
  if (restarts) return {};
  const drainStartedAt = history.drainStartedAt ?? (drain === undefined ? undefined : now);
  const drainedAt = history.drainedAt ?? (drain?.complete === true ? now : undefined);
  const known = drainStartedAt !== undefined && drain !== undefined && drainedAt === undefined && !blockers.some(needsHelp);
  const estimatedEnd = known ? endOf(drainStartedAt, drain, now) : undefined;
  return { ...(drainStartedAt && { drainStartedAt }), ...(drainedAt && { drainedAt }), ...(estimatedEnd && { estimatedEnd }) };
};

const vmsOf = (drain: DrainStanding | undefined, { vms: tracked = nothingTracked }: Course): Pick<Report, 'vms' | 'vmsBefore'> => {
  const { moved, stopped } = tracked.before;
  return drain === undefined || drain.vms.length + moved + stopped === 0 ? {} : { vms: drain.vms, vmsBefore: tracked.before };
};

const reportOf = (standing: Standing, course: Course): Report => {
  const { drain, failure, leaseErrors, holds } = standing;
  const problem = standing.problem ?? (failure === undefined ? course.picture.trouble : failure === 'GivenBack' ? givenBack : undefined);
  const blockers = blockersOf(standing, course);
  return {
    state: stateOf(standing),
    held: holds,
    leaseErrors,
    waiting: drain?.waiting ?? [],
    blockers,
    ...vmsOf(drain, course),
    ...(failure !== undefined && { failure }),
    ...(problem !== undefined && { problem }),
    ...(drain !== undefined && { pods: { ...drain.count, total: drain.total } }),
    ...timesOf(standing, blockers, course.now),
    ...(standing.startsAt && { startsAt: standing.startsAt }),
  };
};

const announcements = ({ request }: Standing, { state }: Report): readonly Announcement[] => {
  const { state: before } = request.history;
  if (state === before) return [];
  if (state === 'Drained') return [announcement(request, 'Normal', request.dialect.events.succeeded)];
  if (state === 'Failed') return [announcement(request, 'Warning', request.dialect.events.failed)];
  return [];
};

/** One report and what is to be written of it. */
export type Reported = {
  readonly standing: Standing;
  readonly report: Report;
  readonly write?: Write;
  readonly again?: Temporal.Instant;
};

/** What a report comes to. Budgets count anew all the time; that alone is not worth a write. */
const gistOf = ({ state, pods, problem, failure, blockers, vms }: Report, generation: number): string =>
  JSON.stringify([state, pods, problem, failure, generation, blockers.map(blockerId), vms?.map(vm => [vm.id, vm.state, vm.target])]);

/** When the status may be written next, unless it is a transition; undefined: it may be now. */
const dueAt = ({ request }: Standing, report: Report, { picture }: Course): Temporal.Instant | undefined => {
  const last = picture.notes.reported.get(request.key);
  if (last === undefined) return undefined;
  const pause = last.gist === gistOf(report, request.generation) ? wordsEvery : progressEvery;
  return earliest([secondsAfter(last.at, pause), request.dialect.readsDifferentlyAt(report, last.at)]);
};

const statusWrite = (standing: Standing, report: Report, course: Course): Pick<Reported, 'write' | 'again'> => {
  const { request } = standing;
  const { state, leaseErrors } = request.history;
  const isTransition = report.state !== state || report.leaseErrors !== leaseErrors;
  const due = dueAt(standing, report, course);
  // Not even looked at before it is due: most looks at a node come from its pods leaving one by one.
  if (!isTransition && due !== undefined && isBefore(course.now, due)) return { again: due };
  const patch = mergePatch(request.status, request.dialect.status(report, request, course.now));
  const later = request.dialect.readsDifferentlyAt(report, course.now);
  const again = later && { again: later };
  if (patch === undefined) return { ...again };
  return { ...again, write: { ...statusPatch(request, report.state, patch), announce: announcements(standing, report) } };
};

/**
 * What there is to say of each request, and the writes that say it: only what differs from what is stored. `finished`: all steps before
 * have had their turn. A request that is written to for another reason is left for the next look.
 */
export const reports = (course: Course, finished: boolean): readonly Reported[] => {
  const touched = new Set(course.writes.map(({ path }) => path));
  return course.standings
    .filter(standing => isInformed(standing, finished) || course.picture.trouble !== undefined)
    .filter(({ request }) => !touched.has(pathOf(request)))
    .map(standing => {
      const report = reportOf(standing, course);
      return { standing, report, ...statusWrite(standing, report, course) };
    });
};

/** The notes for the next look. */
export const notesAfter = (course: Course, reported: readonly Reported[]): Notes => {
  const { notes, requests } = course.picture;
  const present = new Set(requests.map(({ key }) => key));
  const kept = <T>(map: ReadonlyMap<string, T>): (readonly [string, T])[] => [...map].filter(([key]) => present.has(key));
  const tallies = course.standings.flatMap(({ request, drain }) => (drain ? [[request.key, drain.tally] as const] : []));
  const written = reported.flatMap(({ standing: { request }, report, write }) =>
    write ? [[request.key, { at: course.now, gist: gistOf(report, request.generation) }] as const] : [],
  );
  const drained = course.standings.some(({ drain }) => drain !== undefined);
  return {
    tallies: new Map([...kept(notes.tallies), ...tallies]),
    returns: course.plan.returns,
    recalled: course.recalled,
    ...(course.vms && { vms: course.vms }),
    seat: course.picture.node?.before === undefined && course.standings.some(({ granted, holds }) => granted && holds),
    reported: new Map([...kept(notes.reported), ...written]),
    blockedSince: drained
      ? new Map(reported.flatMap(({ report }) => report.blockers.map(blocker => [blockerId(blocker), blocker.since] as const)))
      : notes.blockedSince,
    ...(course.leaseMissedAt && { leaseMissedAt: course.leaseMissedAt }),
  };
};
