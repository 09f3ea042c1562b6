import { isBefore, secondsAfter, secondsBetween } from '@drydock/apimachinery';
import { deleteChildWrite } from '../../maintenance/decide.ts';
import { revisionOfRun } from '../contest.ts';
import type { InFlight, NodeVerdict } from '../in-flight.ts';
import { deletions, isOver, podsOfTurn, waitForPods, workPodsOn } from '../pods/work-pods.ts';
import type { WaitReason, WorkPod } from '../snapshot.ts';
import { isUp } from '../stop.ts';
import { recordWrite } from '../writes.ts';
import {
  end,
  hasHold,
  hooksOf,
  isRebooted,
  type NodeStateFn,
  type NodeStepResult,
  type NodeView,
  requeuesOf,
  staysHeld,
  transition,
} from './common.ts';
import { settle } from './proof.ts';
import { withdrawReplacement } from './replace.ts';

/** Returns the seconds that the work took, if it has ended. */
function workTimes({
  workStartedAt,
  rebootStartedAt,
  workEndedAt,
}: InFlight): Pick<NodeVerdict, 'workSeconds' | 'rebootSeconds'> {
  if (workStartedAt === undefined || workEndedAt === undefined) return {};
  const workSeconds = secondsBetween(workStartedAt, rebootStartedAt ?? workEndedAt);
  return {
    workSeconds,
    ...(rebootStartedAt && { rebootSeconds: secondsBetween(rebootStartedAt, workEndedAt) }),
  };
}

function verdictOf(view: NodeView, now: Temporal.Instant): NodeVerdict | undefined {
  const { slot: one } = view;
  if (one.outcome === undefined) return undefined;
  const { stuck, ...outcome } = one.outcome;
  return {
    node: one.node,
    uid: one.uid,
    stage: one.stage,
    ...outcome,
    startedAt: one.startedAt,
    completedAt: now,
    attempts: one.attempt,
    rebooted: one.rebooted ?? isRebooted(view),
    requeues: requeuesOf(view) + (stuck === true ? 1 : 0),
    ...workTimes(one),
  };
}

/**
 * Handles the outcome of an earlier revision, which does not apply to this one. A node that it has
 * left unfinished stays held, and has its turn in its stage when a user retries it: nothing begins
 * with it past stages, approvals and gates.
 */
function ofEarlierRevision(
  { slot: one, node, snapshot: { plan } }: NodeView,
  revision: string,
  now: Temporal.Instant,
): NodeStepResult {
  const { outcome, podUid: _podUid, ...rest } = one;
  if (outcome?.held !== true) return {};
  if (node?.due === false)
    return end(
      { ...rest, revision },
      now,
      'Skipped',
      'It is not due any more since the plan was edited',
    );
  const message = `An earlier revision has left it unfinished: drydock plan retry ${plan.name} ${one.node} has it worked on in its turn`;
  return end({ ...rest, revision, startedAt: now }, now, 'Failed', message, { held: true });
}

/** Records the verdict first; then the slot is free. `waiting` is in the status meanwhile. */
function record(view: NodeView, now: Temporal.Instant, waiting?: WaitReason): NodeStepResult {
  const { slot: one, snapshot } = view;
  const verdict = verdictOf(view, now);
  const { run } = snapshot.plan;
  if (verdict === undefined || run === undefined) return {};
  if (one.revision !== run.revision && !(one.outcome?.held === true && view.intent.withdrawn))
    return ofEarlierRevision(view, run.revision, now);
  const isRecorded = snapshot.slices.some(({ verdicts }) =>
    verdicts.some(
      ({ uid, startedAt }) =>
        uid === one.uid && startedAt.epochMilliseconds === one.startedAt.epochMilliseconds,
    ),
  );
  const hooks = isRecorded || view.intent.withdrawn ? undefined : hooksOf(view, 'AfterNode', now);
  if (hooks !== undefined) return hooks;
  return isRecorded
    ? {}
    : {
        slot: one,
        writes: [recordWrite(snapshot, verdict, revisionOfRun(run))],
        ...(waiting && { waiting }),
      };
}

/**
 * Returns why the slot is kept: one text for the whole release, because another one would cost the
 * plan a request.
 */
function releaseWaiting({ slot: one }: NodeView): WaitReason {
  return {
    reason: 'Releasing',
    message: 'it is being given back, and its verdict recorded',
    node: one.node,
  };
}

/**
 * Returns when pods of the work have to have ended, once they are deleted: after the grace period
 * of their author, bounded by the time limit of the work.
 */
function podsEndBy({ slot: one }: NodeView): Temporal.Instant {
  return secondsAfter(one.since, Math.max(one.work.timeoutSeconds, leastEndSeconds));
}
const leastEndSeconds = 600;

/** Turns the outcome into a failure, because it does not hold any more. */
function failAfter(
  { slot: one }: NodeView,
  now: Temporal.Instant,
  what: string,
  held: boolean,
): NodeStepResult {
  const { state = one.state, message = '' } = one.outcome ?? {};
  return transition(one, 'Releasing', now, {
    outcome: { verdict: 'Failed', state, message: `${message}; ${what}`, held },
  });
}

/**
 * Handles a container that ran after the outcome had been decided without one: its effect is
 * unknown.
 */
function ranAllTheSame(
  view: NodeView,
  pods: readonly WorkPod[],
  now: Temporal.Instant,
): NodeStepResult | undefined {
  const { slot: one } = view;
  const { verdict } = one.outcome ?? {};
  const isUnworked =
    one.ranAttempt === undefined &&
    (verdict === 'Failed' || verdict === 'Requeued' || verdict === 'Skipped');
  const pod = isUnworked ? pods.find(({ ran }) => ran) : undefined;
  if (pod === undefined) return undefined;
  const ran = { ...view, slot: { ...one, ranAttempt: one.attempt } };
  return failAfter(
    ran,
    now,
    `its pod ${pod.name} has run all the same, before it was deleted`,
    staysHeld(view),
  );
}

/**
 * Drops the name of the pod when no container of the work can run any more: waits for the end of
 * the work are over then.
 */
function withoutPod({ pod: _pod, podUid: _podUid, ...rest }: InFlight): InFlight {
  return rest;
}

/** Adds the name of a pod of the work that may run: the release of the node waits for it. */
function withPod(one: InFlight, [first]: readonly WorkPod[]): InFlight {
  return first === undefined ? one : { ...one, pod: one.pod ?? first.name };
}

/**
 * Handles a node that stays held. The verdict is recorded at once; the slot is free when no pod of
 * the work runs, or nothing on the node could end one.
 */
function releasingHeld(
  view: NodeView,
  running: readonly WorkPod[],
  now: Temporal.Instant,
): NodeStepResult {
  const { node } = view;
  const one = withPod(view.slot, running);
  const writes = deletions(running);
  const step = record(view, now);
  if (running.length === 0)
    return step.slot?.outcome?.held === true ? { ...step, slot: withoutPod(step.slot) } : step;
  if (step.slot !== undefined || writes.length > 0) {
    return {
      ...step,
      slot: withPod(step.slot ?? one, running),
      writes: [...(step.writes ?? []), ...writes],
    };
  }
  const until = podsEndBy(view);
  const isWaitedFor = node !== undefined && isUp(node.node) && isBefore(now, until);
  return isWaitedFor
    ? { slot: one, waiting: waitForPods(running, one.node, 'its slot is free'), requeueAt: until }
    : {};
}

/**
 * Releases the node after its verdict: objects that were created for it are deleted, pods of the
 * work first, and the verdict is recorded.
 */
export const releasing: NodeStateFn = (view, now) => {
  const { slot: one, child, snapshot } = view;
  const ofTurn = podsOfTurn(snapshot, one);
  const surprise = ranAllTheSame(view, ofTurn, now);
  if (surprise !== undefined) return surprise;
  // Of whatever turn: an edit of the plan begins another one while the pod of the one before is
  // still ending.
  const running = workPodsOn(snapshot, one.node);
  const pods = [...ofTurn.filter(isOver), ...running];
  if (one.outcome?.held === true) return releasingHeld(view, running, now);
  const withdrawn = one.work.kind === 'replace' ? withdrawReplacement(view) : undefined;
  if (withdrawn !== undefined) return withdrawn;
  const gone = deletions(pods);
  const until = podsEndBy(view);
  // Waits without a Node object too: its kubelet may register it again, and otherwise pod GC ends
  // them.
  if (running.length > 0) {
    if (isBefore(now, until)) {
      return {
        slot: withPod(one, running),
        writes: gone,
        waiting: waitForPods(running, one.node, 'the node is released'),
        requeueAt: until,
      };
    }
    const what = `its pod ${running[0]?.name ?? ''} was to be deleted, and has not ended: the node stays held`;
    if (hasHold(view) && view.node !== undefined) return failAfter(view, now, what, true);
  }
  const free = withoutPod(one);
  const isHeld = child !== undefined && child.plan === snapshot.plan.name;
  // The pods come first: writes about a node are sent in order, and none after a failed one.
  const writes = [...gone, ...(isHeld && !child.deleting ? [deleteChildWrite(child)] : [])];
  const waiting = releaseWaiting(view);
  const settled = { ...view, slot: free };
  return isHeld || writes.length > 0
    ? { slot: free, writes, waiting }
    : settle(settled, now, () => record(settled, now, waiting));
};
