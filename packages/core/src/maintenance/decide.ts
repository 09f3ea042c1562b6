import { earliest } from '@drydock/apimachinery';
import type { Report } from '../request/report.ts';
import type { Decision } from './decision.ts';
import { type ReconcileContext, type ReconcileStep, startContext } from './reconcile-context.ts';
import type { NodeSnapshot } from './snapshot.ts';
import { cancelVmEvictions } from './steps/cancel-vm-evictions.ts';
import { claim } from './steps/claim.ts';
import { deadline } from './steps/deadline.ts';
import { detach } from './steps/detach.ts';
import { daemonSets } from './steps/drain/daemon-sets.ts';
import { drain } from './steps/drain/drain.ts';
import { cleanUpEvictionRequests } from './steps/eviction-requests.ts';
import { hold } from './steps/hold.ts';
import { hypervisor } from './steps/hypervisor.ts';
import { lease } from './steps/lease.ts';
import { missingNode } from './steps/missing-node.ts';
import { lifecycleConditionsFor } from './steps/node-report.ts';
import { quorum } from './steps/quorum.ts';
import { conditionsWrites, release } from './steps/release.ts';
import { memoAfter, type Reported, refusedClaims, reports } from './steps/report.ts';
import { schedule } from './steps/schedule.ts';
import { succession } from './steps/succession.ts';

/** Steps in this order, each idempotent; the first step that is not done ends the pass. */
const steps: readonly ReconcileStep[] = [
  claim,
  missingNode,
  succession,
  schedule,
  quorum,
  lease,
  hold,
  cancelVmEvictions,
  release,
  daemonSets,
  drain,
  hypervisor,
  detach,
  deadline,
];

function runSteps(
  start: ReconcileContext,
  steps: readonly ReconcileStep[],
): { readonly context: ReconcileContext; readonly finished: boolean } {
  let context = start;
  for (const step of steps) {
    const result = step(context);
    context = result.context;
    if (!result.done) return { context, finished: false };
  }
  return { context, finished: true };
}

function nodeWrites(
  context: ReconcileContext,
  reported: readonly Reported[],
  finished: boolean,
): ReconcileContext['writes'] {
  return finished && reported.length === context.progresses.length && reported.length > 0
    ? conditionsWrites(context, lifecycleConditionsFor(reported))
    : [];
}

/** Assembles the decision from the context, without the writes that report it. */
function decisionOf(
  context: ReconcileContext,
  reported: readonly Reported[],
  requestUnanswered = false,
): Decision {
  const requeueAt = earliest([...context.moments, ...reported.map(one => one.requeueAt)]);
  return {
    writes: context.writes,
    calls: context.plan.calls,
    evictable: context.evictable,
    waitsFor: context.plan.waitsFor,
    waitsForSlots: context.plan.waitsForSlots,
    ...(context.desiredHost && { desiredHost: context.desiredHost }),
    remaining: context.evictable.size,
    watchPods: context.snapshot.requests.some(
      ({ deleting, level }) => !deleting && level === 'Drain',
    ),
    confirmPods: context.confirmPods,
    handOver: context.handOver,
    requestUnanswered,
    lookups: context.lookups,
    notes: memoAfter(context, reported),
    ...(requeueAt && { requeueAt }),
  };
}

/**
 * Decides what to do about a node now: a pure function of the snapshot and the time. It keeps no
 * state, so a process that is killed at any line continues after its restart where it was.
 * Everything stored is in the API; `memo` only saves calls and writes.
 */
export function decide(snapshot: NodeSnapshot, now: Temporal.Instant): Decision {
  const walked = runSteps(startContext(snapshot, now), steps);
  const { finished } = walked;
  const { context, requestUnanswered } = cleanUpEvictionRequests(walked.context);
  const reported = reports(context, finished);
  const all = [...reported, ...refusedClaims(context)];
  const decision = decisionOf(context, all, requestUnanswered);
  const written = all.flatMap(({ write }) => (write ? [write] : []));
  return {
    ...decision,
    writes: [...decision.writes, ...nodeWrites(context, reported, finished), ...written],
  };
}

/** Assumes that the caller holds the node: the drain looks at no lease, no mark and no status. */
const assumeHeld: ReconcileStep = context => ({
  done: true,
  context: {
    ...context,
    progresses: context.progresses.map(progress => ({ ...progress, granted: true, holds: true })),
  },
});

/** Result of the drain alone, for a user at a keyboard. */
export type Evacuation = { readonly decision: Decision; readonly reports: readonly Report[] };

/**
 * Decides only the drain: the same judgement, budgets and pace as in a maintenance, on a node that
 * another party holds. The decision has no writes; there is a report for each request as soon as
 * the pods are known.
 */
export function decideDrainOnly(snapshot: NodeSnapshot, now: Temporal.Instant): Evacuation {
  const { context, finished } = runSteps(startContext(snapshot, now), [assumeHeld, drain]);
  const reported = reports(context, finished).map(({ progress, report }) => ({ progress, report }));
  return {
    decision: { ...decisionOf(context, reported), writes: [] },
    reports: reported.map(({ report }) => report),
  };
}
