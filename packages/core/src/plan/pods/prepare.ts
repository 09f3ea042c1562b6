import { earliest } from '@drydock/apimachinery';
import type { Write } from '../../write.ts';
import { isRetried } from '../contest.ts';
import { isRefused, type Preparing } from '../in-flight.ts';
import type { Prepare } from '../plan.ts';
import type { PlanNode, WaitReason, WorkPod } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import {
  createPodWrite,
  deletePodWrite,
  isNamedFor,
  podNameFor,
  preparePurpose,
} from '../writes.ts';
import { momentsOf, podOfTask, startSeconds, stateOfTask, troubleOf } from './work-pods.ts';

/**
 * Preparation of nodes before they are held: it takes nothing out of service, so several nodes are
 * prepared at once, ahead of their turn.
 */

/** Entries to store, and writes to send after that. */
export type Preparation = {
  readonly preparing: readonly Preparing[];
  readonly writes: readonly Write[];
  readonly requeueAt?: Temporal.Instant;
};

/** Number of nodes that are prepared ahead, for each node that may be in flight at once. */
const aheadOfEach = 2;

/** Maximum number of preparations at once, and of refused ones: the status stays small. */
const maxAhead = 50;
const maxRefused = 200;

/** Reports whether a user has retried the preparation. */
function isSetAside(one: Preparing, { snapshot }: PlanView): boolean {
  return isRefused(one) && isRetried(one.since, snapshot.plan, one.node);
}

function podOf({ snapshot }: PlanView, one: Preparing): WorkPod | undefined {
  const pod = podOfTask(snapshot, one);
  return pod?.nodeName === one.node ? pod : undefined;
}

function because(
  one: Preparing,
  state: Preparing['state'],
  message: string,
  now: Temporal.Instant,
): Preparing {
  return {
    ...one,
    state,
    message,
    since: now,
  };
}

/** `idle`: its pod cannot start. It does not keep others from their preparation. */
type PreparingStep = {
  readonly next: Preparing;
  readonly writes: readonly Write[];
  readonly idle?: boolean;
};

/** Returns the next step of a preparation. Its entry is stored before its pod is created. */
function advanceOne(
  view: PlanView,
  one: Preparing,
  prepare: Prepare,
  now: Temporal.Instant,
): PreparingStep {
  if (one.state !== 'Running') return { next: one, writes: [] };
  const { timeoutSeconds } = prepare;
  const hasBegun = podOf(view, one)?.ran === true;
  const task = stateOfTask(
    view.snapshot,
    one,
    hasBegun ? timeoutSeconds : startSeconds(timeoutSeconds),
    now,
  );
  if (task.kind === 'missing') {
    const place = {
      name: one.pod,
      node: one.node,
      what: 'gets the node ready',
      deadlineSeconds: timeoutSeconds,
    };
    return { next: one, writes: [createPodWrite(view.snapshot, prepare, place)] };
  }
  if (task.kind === 'seen') return { next: { ...one, podUid: task.podUid }, writes: [] };
  if (task.kind === 'succeeded') return { next: because(one, 'Prepared', '', now), writes: [] };
  if (task.kind === 'running') return { next: one, writes: [], idle: task.idle };
  const state = task.exitCode === prepare.refusalCode ? 'Refused' : 'Failed';
  return { next: because(one, state, task.message, now), writes: [] };
}

/**
 * Removes a preparation whose node has begun, is over or is not due any more: its pod first, then
 * its entry.
 */
function leave(view: PlanView, one: Preparing): Preparation {
  const pod = podOf(view, one);
  return {
    preparing: pod === undefined ? [] : [one],
    writes: pod === undefined || pod.deleting ? [] : [deletePodWrite(pod)],
  };
}

function fresh({ node }: PlanNode, { snapshot }: PlanView, now: Temporal.Instant): Preparing {
  return {
    node: node.name,
    uid: node.uid,
    state: 'Running',
    since: now,
    pod: podNameFor(snapshot, preparePurpose(snapshot.plan, node.uid)),
    message: '',
  };
}

/**
 * Reports whether the preparation counts: it is of this run, its node has not begun, and no user
 * has retried it.
 */
function counts(one: Preparing, view: PlanView, open: ReadonlySet<string>): boolean {
  return (
    open.has(one.uid) &&
    isNamedFor(one.pod, preparePurpose(view.snapshot.plan, one.uid)) &&
    !isSetAside(one, view)
  );
}

/**
 * Prepares the next candidates, as many as may soon have their turn; removes the preparations of
 * other nodes.
 */
export function prepareAhead(
  view: PlanView,
  candidates: readonly PlanNode[],
  now: Temporal.Instant,
): Preparation {
  const { prepare, preparing } = view.snapshot.plan;
  const open = new Set(prepare === undefined ? [] : candidates.map(({ node }) => node.uid));
  const { true: kept = [], false: left = [] } = Object.groupBy(
    preparing,
    one => `${counts(one, view, open)}` as const,
  );
  const leaving = left.map(one => leave(view, one));
  const steps = prepare === undefined ? [] : kept.map(one => advanceOne(view, one, prepare, now));
  const known = new Set(preparing.map(({ uid }) => uid));
  const ready = steps.filter(({ next }) => !isRefused(next));
  const idle = ready.filter(step => step.idle === true).length;
  const ahead =
    Math.min(maxAhead, Math.max(1, aheadOfEach * view.counts.maxInFlight) + idle) - ready.length;
  const room = kept.filter(isRefused).length >= maxRefused ? 0 : Math.max(0, ahead);
  const more =
    prepare === undefined
      ? []
      : candidates.filter(({ node }) => !known.has(node.uid)).slice(0, room);
  const next = [...steps.map(step => step.next), ...more.map(one => fresh(one, view, now))];
  const requeueAt =
    prepare &&
    earliest(
      next.flatMap(one =>
        one.state === 'Running' ? momentsOf(one, prepare.timeoutSeconds, now) : [],
      ),
    );
  return {
    preparing: [...next, ...leaving.flatMap(one => one.preparing)],
    writes: [...leaving.flatMap(({ writes }) => writes), ...steps.flatMap(({ writes }) => writes)],
    ...(requeueAt && { requeueAt }),
  };
}

/** Returns why a node is not prepared yet, or will not be: others pass it. */
export function unprepared({ node }: PlanNode, { snapshot }: PlanView): WaitReason | undefined {
  const { prepare, preparing } = snapshot.plan;
  if (prepare === undefined) return undefined;
  // A preparation for other work does not count.
  const own = preparePurpose(snapshot.plan, node.uid);
  const one = preparing.find(({ uid, pod }) => uid === node.uid && isNamedFor(pod, own));
  if (one?.state === 'Prepared') return undefined;
  if (one === undefined || one.state === 'Running') {
    const trouble = one === undefined ? '' : troubleOf(snapshot, one);
    return {
      reason: 'Preparing',
      message: `node ${node.name} is being prepared${trouble === '' ? '' : `: ${trouble}`}`,
      node: node.name,
    };
  }
  const refusal =
    one.state === 'Refused'
      ? `its preparation refuses: ${one.message}`
      : `its preparation has failed: ${one.message}`;
  return {
    reason: 'Blocked',
    message: `${refusal}; drydock plan retry ${snapshot.plan.name} ${node.name} tries again`,
    node: node.name,
  };
}
