import { earliest } from '../time.ts';
import type { Decision } from './decision.ts';
import { type Course, type Step, startCourse } from './reconcile-context.ts';
import type { Report } from './report.ts';
import type { Picture } from './snapshot.ts';
import { claim } from './steps/claim.ts';
import { detach } from './steps/detach.ts';
import { drain } from './steps/drain.ts';
import { hold } from './steps/hold.ts';
import { hypervisor } from './steps/hypervisor.ts';
import { lease } from './steps/lease.ts';
import { conditionsWrites, letGo } from './steps/let-go.ts';
import { missingNode } from './steps/missing-node.ts';
import { nodeWords } from './steps/node-report.ts';
import { quorum } from './steps/quorum.ts';
import { recall } from './steps/recall.ts';
import { notesAfter, type Reported, reports } from './steps/report.ts';
import { schedule } from './steps/schedule.ts';

/** In this order, each idempotent; the first that is not done is as far as it goes today. */
const steps: readonly Step[] = [claim, missingNode, schedule, quorum, lease, hold, recall, letGo, drain, hypervisor, detach];

const walk = (start: Course, steps: readonly Step[]): { readonly course: Course; readonly finished: boolean } => {
  let course = start;
  for (const step of steps) {
    const result = step(course);
    course = result.course;
    if (!result.done) return { course, finished: false };
  }
  return { course, finished: true };
};

const nodeWrites = (course: Course, reported: readonly Reported[], finished: boolean): Course['writes'] =>
  finished && reported.length === course.standings.length && reported.length > 0 ? conditionsWrites(course, nodeWords(reported)) : [];

/** What the course comes to, without a word about it. */
const decisionOf = (course: Course, reported: readonly Reported[]): Decision => {
  const again = earliest([...course.moments, ...reported.map(one => one.again)]);
  return {
    writes: course.writes,
    calls: course.plan.calls,
    mayLeave: course.mayLeave,
    waitsFor: course.plan.waitsFor,
    waitsForRoom: course.plan.waitsForRoom,
    ...(course.hostWish && { hostWish: course.hostWish }),
    remaining: course.mayLeave.size,
    watchPods: course.picture.requests.some(({ deleting, stage }) => !deleting && stage === 'Drain'),
    confirmPods: course.confirmPods,
    handOver: course.handOver,
    lookups: course.lookups,
    notes: notesAfter(course, reported),
    ...(again && { again }),
  };
};

/**
 * What to do about a node now: a pure function of what is known and of the time. It remembers nothing, so a process that is killed at any
 * line and started again goes on where it was. Everything stored is in the API; `notes` only make it quieter.
 */
export const decide = (picture: Picture, now: Temporal.Instant): Decision => {
  const { course, finished } = walk(startCourse(picture, now), steps);
  const reported = reports(course, finished);
  const decision = decisionOf(course, reported);
  const written = reported.flatMap(({ write }) => (write ? [write] : []));
  return { ...decision, writes: [...decision.writes, ...nodeWrites(course, reported, finished), ...written] };
};

/** The node is held by whoever asks: no lease, no mark and no status is any business of the drain. */
const asIs: Step = course => ({
  done: true,
  course: { ...course, standings: course.standings.map(standing => ({ ...standing, granted: true, holds: true })) },
});

/** How the drain alone stands, for one who asks for it at a keyboard. */
export type Evacuation = { readonly decision: Decision; readonly reports: readonly Report[] };

/**
 * Only the drain: the same judgement, budgets and pace as in a maintenance, on a node that somebody else holds. Nothing is written; there is
 * a report for each request as soon as the pods are known.
 */
export const evacuate = (picture: Picture, now: Temporal.Instant): Evacuation => {
  const { course, finished } = walk(startCourse(picture, now), [asIs, drain]);
  const reported = reports(course, finished).map(({ standing, report }) => ({ standing, report }));
  return { decision: { ...decisionOf(course, reported), writes: [] }, reports: reported.map(({ report }) => report) };
};
