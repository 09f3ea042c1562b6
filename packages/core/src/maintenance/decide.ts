import {
  earliest,
  type JsonObject,
  type KubeEvent,
  mergePatch,
  sameJson,
} from '@drydock/apimachinery';
import type { Budget } from '../drain/budgets/budget.ts';
import type { DrainPolicy } from '../drain/policy.ts';
import type { Node } from '../node/node.ts';
import type { Pod } from '../pod/pod.ts';
import { type MaintenanceRequest, pathOf, type Report } from '../request/request.ts';
import type { NodeVms } from '../vm/vm-pod.ts';
import type { Write } from '../write.ts';
import type { Decision } from './decision.ts';
import { type ReconcileContext, type ReconcileStep, startContext } from './reconcile-context.ts';
import { emptyMemo, type NodeSnapshot } from './snapshot.ts';
import { claim, cleanUpEvictionRequests } from './steps/claim.ts';
import { detach, hypervisor } from './steps/detach.ts';
import { daemonSets, drain } from './steps/drain/drain.ts';
import { hold } from './steps/hold.ts';
import { lease } from './steps/lease.ts';
import { lifecycleConditionsFor, missingNode, quorum } from './steps/quorum.ts';
import {
  cancelVmEvictions,
  conditionsWrites,
  deadline,
  release,
  succession,
} from './steps/release.ts';
import { memoAfter, type Reported, refusedClaims, reports } from './steps/report.ts';
import { schedule } from './steps/schedule.ts';

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

/** Inputs of a drain of one node, at one moment. */
export type DrainInputs = {
  /** The node; missing if it is not known. */
  readonly node?: Node;
  readonly pods: readonly Pod[];
  readonly budgets: readonly Budget[];
  /** Keys `namespace/name`. */
  readonly daemonSets: ReadonlySet<string>;
  readonly vms?: NodeVms;
  /** Pods of these namespaces that are on no node; missing if they have not been listed. */
  readonly unscheduled?: NodeSnapshot['unscheduled'];
};

/** Returns the snapshot that the drain of one request would see, with no eviction sent yet. */
export function snapshotOf(
  request: MaintenanceRequest,
  { node, pods, budgets, daemonSets, vms, unscheduled }: DrainInputs,
): NodeSnapshot {
  return {
    nodeName: request.nodeName,
    ...(node && { node }),
    requests: [request],
    pods,
    podsConfirmed: true,
    budgets,
    daemonSets,
    ...(vms && { vms }),
    ...(unscheduled && { unscheduled }),
    leases: new Map(),
    attachments: [],
    volumes: new Map(),
    attempts: new Map(),
    inFlight: [],
    memo: emptyMemo,
    adapters: [request.adapter],
    missingKinds: new Set(),
    windows: [],
    terms: { durationSeconds: 0, renewEverySeconds: 0 },
  };
}

/**
 * Maintenances that were created for a machine or by a plan. They are trusted only as far as they
 * match what their creator wrote.
 */

/**
 * Reports whether the node was drained as its current spec demands: completely, and by the
 * generation that the status observed.
 */
export function isDrained({ history, level, status, generation }: MaintenanceRequest): boolean {
  return (
    history.state === 'Drained' &&
    level === 'Drain' &&
    Number(status['observedGeneration'] ?? 0) >= generation
  );
}

/**
 * Reports whether the drain policy differs from the wanted one. `maxGracePeriodSeconds` is not
 * compared: it may depend on the time of creation.
 */
export function isChanged({ policy }: MaintenanceRequest, wanted: DrainPolicy): boolean {
  const { maxGracePeriodSeconds: _own, ...own } = policy;
  const { maxGracePeriodSeconds: _wanted, ...other } = wanted;
  return !sameJson(own, other);
}

/** Returns the write that restores the drain policy and the level after a user has changed them. */
export function restoreChildWrite(
  child: MaintenanceRequest,
  drain: JsonObject,
  announces: readonly KubeEvent[],
): Write {
  return {
    description: 'restore the drain policy of the node',
    method: 'PATCH',
    style: 'merge',
    path: pathOf(child),
    body: {
      metadata: { resourceVersion: child.resourceVersion },
      spec: { level: 'Drain', drain: mergePatch(child.storedDrain ?? {}, drain) ?? {} },
    },
    cache: 'requests',
    adapter: child.adapter.name,
    events: announces,
  };
}

/**
 * Returns the write that sets the level: Cordon pauses the Maintenance while its node stays held,
 * Drain continues it.
 */
export function levelWrite(child: MaintenanceRequest, level: 'Cordon' | 'Drain'): Write {
  return {
    description: level === 'Cordon' ? 'pause the drain' : 'continue the drain',
    method: 'PATCH',
    style: 'merge',
    path: pathOf(child),
    body: { metadata: { resourceVersion: child.resourceVersion }, spec: { level } },
    cache: 'requests',
    adapter: child.adapter.name,
    events: [],
  };
}

/**
 * Returns the write that deletes the Maintenance of a machine or a plan: this uid only, and no
 * other object of its name.
 */
export function deleteChildWrite(child: MaintenanceRequest): Write {
  return {
    description: 'delete the maintenance of the node',
    method: 'DELETE',
    path: pathOf(child),
    body: { preconditions: { uid: child.uid } },
    cache: 'requests',
    adapter: child.adapter.name,
    events: [],
  };
}
