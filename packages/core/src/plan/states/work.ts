import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { conditionOf, transitionTimeOf } from '../../node/node.ts';
import type { InFlight } from '../in-flight.ts';
import type { PodWork } from '../plan.ts';
import {
  deletions,
  foreignPodText,
  isOver,
  isOwnPod,
  podsOfOtherAttempts,
  podsOfTurn,
  rebootPodSpec,
  startSeconds,
} from '../pods/work-pods.ts';
import type { WorkPod } from '../snapshot.ts';
import { isUp, stopWaiting } from '../stop.ts';
import { announce, createPodWrite, podNameFor, workPurpose } from '../writes.ts';
import {
  beforeWork,
  end,
  fail,
  hasHold,
  isOutdated,
  isRebooted,
  missingHoldReason,
  type NodeStateFn,
  type NodeStepResult,
  type NodeView,
  restored,
  transition,
} from './common.ts';
import { closedWindow, replacing } from './replace.ts';

/**
 * Text for a missing image. The plan has a problem then, and begins with no node; this one began
 * before.
 */
const noImage = 'the image of the operator is not known';

/**
 * Returns work that the plan does not contain any more: its pod is followed, and no other one is
 * created.
 */
function pastWork({ work }: NodeView['slot']): PodWork {
  return { ...work, kind: 'job', podSpec: {}, attempts: 0 };
}

/** Returns the work as a pod, if it is one: the built-in reboot is a pod like any other. */
function podWorkOf(view: NodeView): PodWork | undefined {
  const { plan, settings } = view.snapshot;
  const { work } = plan;
  if (isOutdated(view)) return pastWork(view.slot);
  if (work.kind === 'job') return work;
  const image = work.kind === 'reboot' ? (work.image ?? settings.image) : undefined;
  if (work.kind !== 'reboot' || image === undefined) return undefined;
  return {
    kind: 'job',
    podSpec: rebootPodSpec(image),
    rebootsNode: true,
    timeoutSeconds: work.timeoutSeconds,
    attempts: 1,
  };
}

/** Ends the attempt and begins the next one, if one is left and the plan may begin it. */
function retryOrFail(
  view: NodeView,
  work: PodWork,
  now: Temporal.Instant,
  message: string,
): NodeStepResult {
  const { slot: one, intent } = view;
  const { stop } = intent;
  if (one.attempt >= work.attempts) return fail(view, now, message);
  if (stop?.kind === 'Paused')
    return { slot: one, waiting: stopWaiting(stop, 'another attempt', one.node) };
  if (stop !== undefined) return fail(view, now, `${message}; no other attempt: ${stop.message}`);
  const { pod: _pod, podUid: _podUid, ...rest } = one;
  return transition(rest, 'Working', now, { attempt: one.attempt + 1 });
}

/** Waits until the time limit of the work; then the node has failed. */
function late(
  view: NodeView,
  now: Temporal.Instant,
  what: string,
  reason: string = view.slot.state,
): NodeStepResult {
  const { slot: one } = view;
  const { timeoutSeconds } = one.work;
  const until = secondsAfter(one.since, timeoutSeconds);
  if (!isBefore(now, until))
    return fail(view, now, `${what} for ${timeoutSeconds} s, which is its limit`);
  return { slot: one, waiting: { reason, message: what, node: one.node, until }, requeueAt: until };
}

/**
 * Waits for a first container of the pod, which has a limit of its own. Its failure is no verdict
 * about the work.
 */
function unbegun(
  view: NodeView,
  work: PodWork,
  now: Temporal.Instant,
  what: string,
): NodeStepResult {
  const { slot: one } = view;
  const seconds = startSeconds(one.work.timeoutSeconds);
  const until = secondsAfter(one.since, seconds);
  if (!isBefore(now, until))
    return retryOrFail(
      view,
      work,
      now,
      `The work could not begin: ${what}, for ${seconds} s, which is its limit`,
    );
  return {
    slot: one,
    waiting: { reason: 'Working', message: what, node: one.node, until: until },
    requeueAt: until,
  };
}

function podOf({ snapshot, slot: one }: NodeView): WorkPod | undefined {
  const pod = one.pod === undefined ? undefined : snapshot.pods.get(one.pod);
  return pod !== undefined && (one.podUid === undefined || pod.uid === one.podUid)
    ? pod
    : undefined;
}

/** Reports whether a pod of its name is foreign. */
function isForeign(pod: WorkPod, { snapshot, slot: one }: NodeView): boolean {
  return !isOwnPod(pod, snapshot.plan) || pod.nodeName !== one.node;
}

/** Returns the pod's own message in parentheses. */
function because({ message }: WorkPod): string {
  return message === '' ? '' : ` (${message})`;
}

/**
 * Seconds until another pod is created for one that has ended before it started; twice as many each
 * time.
 */
const firstPause = 10;

/**
 * Handles a pod that was rejected, evicted or lost before a container of it has run: that is no
 * attempt of the work. Another one is tried, within the limit for its start.
 */
function endedUnbegun(
  view: NodeView,
  work: PodWork,
  pod: WorkPod,
  now: Temporal.Instant,
): NodeStepResult {
  const { pod: _pod, podUid: _podUid, ...one } = view.slot;
  const { end: own } = workPurpose(view.snapshot.plan, view.slot);
  const many = podsOfTurn(view.snapshot, view.slot).filter(
    ({ name, ran }) => !ran && name.endsWith(`-${own}`),
  ).length;
  const next = secondsAfter(one.since, firstPause * (2 ** many - 1));
  const step = unbegun(
    view,
    work,
    now,
    `pod ${pod.name} has ended before a container of it ran${because(pod)}`,
  );
  if (step.waiting === undefined) return step;
  return isBefore(now, next) ? { ...step, requeueAt: next } : { slot: one };
}

function ended(view: NodeView, work: PodWork, pod: WorkPod, now: Temporal.Instant): NodeStepResult {
  const { slot: one } = view;
  // A pod that is deleted may end well: that proves nothing about the work.
  if (pod.phase === 'Succeeded' && !pod.deleting)
    return transition(one, work.rebootsNode ? 'Rebooting' : 'Verifying', now);
  if (one.ranAttempt !== one.attempt)
    return stoppedBefore(view, now) ?? endedUnbegun(view, work, pod, now);
  // A node that goes down ends its pods: its next boot shows whether the work is done.
  const goesDown = pod.killed || (view.node !== undefined && !isUp(view.node.node));
  if (work.rebootsNode && goesDown) return transition(one, 'Rebooting', now);
  const isOverdue =
    pod.exceeded === true && !isBefore(now, secondsAfter(one.since, one.work.timeoutSeconds));
  if (isOverdue)
    return fail(
      view,
      now,
      `The work has not ended within ${one.work.timeoutSeconds} s, which is its limit: ${pod.message}`,
    );
  const what = pod.deleting ? 'somebody has deleted its pod, which was told to stop' : pod.message;
  return retryOrFail(view, work, now, `The work has failed: ${what}`);
}

function readySinceOf({ node }: NodeView): Temporal.Instant | undefined {
  const ready = node && conditionOf(node.node, 'Ready');
  return ready && transitionTimeOf(ready);
}

/**
 * Reports whether a pod that has ended started after this boot of its node, by times of the node
 * itself. A killed pod was ended by the boot.
 */
function beganAfterBoot(pod: WorkPod, view: NodeView): boolean {
  const readySince = readySinceOf(view);
  return (
    !pod.killed &&
    pod.ranAt !== undefined &&
    readySince !== undefined &&
    !isBefore(pod.ranAt, readySince)
  );
}

/**
 * Reports whether a pod that has ended started in a boot in which it was observed idle. Its start
 * may be reported later than the boot that ended it: a kubelet that goes down at once has no time
 * to report it. The built-in reboot succeeds only when its node goes down.
 */
function beganSinceIdle(pod: WorkPod, view: NodeView): boolean {
  if (pod.killed || (view.slot.work.kind === 'reboot' && pod.phase === 'Succeeded')) return false;
  const readySince = readySinceOf(view);
  return pod.ranAt === undefined || readySince === undefined || !isBefore(pod.ranAt, readySince);
}

/** Sets the boot in which the pod started: another boot has to follow it. */
function begunIn({ idleBootId: _idle, ...one }: InFlight, bootId: string | undefined): InFlight {
  return {
    ...one,
    ...(bootId !== undefined && { bootIdBefore: bootId }),
  };
}

/**
 * Records that a container of the pod has run, and in which boot it started. A pod that was
 * observed idle in this boot started in it. If boot and start have both come since the last look,
 * the status of a running pod may be older than the boot: its end decides.
 */
function withRun(view: NodeView, pod: WorkPod): InFlight {
  const { slot: one, node } = view;
  const bootId = node?.node.bootId;
  const isFirst = one.ranAttempt !== one.attempt;
  const ran = { ...one, ranAttempt: one.attempt };
  if (bootId === undefined || bootId === one.bootIdBefore) return ran;
  const wasIdle = bootId === one.idleBootId;
  if (!isOver(pod)) {
    if (isFirst && wasIdle) return begunIn(ran, bootId);
    return isFirst ? { ...ran, idleBootId: bootId } : one;
  }
  if (!isFirst && !wasIdle) return one;
  const isAfter = isFirst && wasIdle ? beganSinceIdle(pod, view) : beganAfterBoot(pod, view);
  return begunIn(ran, isAfter ? bootId : one.bootIdBefore);
}

/**
 * Records what was observed of the pod and the boot: that a container has run, and which boots came
 * before that, and prove nothing.
 */
function noted(view: NodeView, pod: WorkPod | undefined): NodeView {
  const one = pod === undefined ? view.slot : { ...view.slot, podUid: pod.uid };
  const bootId = view.node?.node.bootId;
  if (pod?.ran === true) return { ...view, slot: withRun({ ...view, slot: one }, pod) };
  const isIdle = one.ranAttempt !== one.attempt && isRebooted(view) && bootId !== undefined;
  return { ...view, slot: isIdle ? { ...one, idleBootId: bootId } : one };
}

/** Removes pods of earlier attempts and turns first: at most one pod of the work is on a node. */
function withoutOthers(
  view: NodeView,
  work: PodWork,
  now: Temporal.Instant,
): NodeStepResult | undefined {
  const others = podsOfOtherAttempts(view.snapshot, view.slot);
  const [first] = others;
  if (first === undefined) return undefined;
  // It may have started when its time to start was over.
  const ranAttempt =
    view.slot.ranAttempt ??
    (view.slot.attempt > 1 && others.some(({ ran }) => ran) ? view.slot.attempt - 1 : undefined);
  const one = { ...view.slot, ...(ranAttempt !== undefined && { ranAttempt }) };
  const step = unbegun(
    { ...view, slot: one },
    work,
    now,
    `pod ${first.name} of an earlier attempt has to be gone first`,
  );
  return step.waiting === undefined ? step : { ...step, writes: deletions(others) };
}

/**
 * Creates the pod of this attempt, on a node that is held and empty, and only for the work that the
 * node began with.
 */
function begin(view: NodeView, work: PodWork, now: Temporal.Instant): NodeStepResult {
  const { slot: one, snapshot } = view;
  const stopped = stoppedBefore(view, now);
  if (stopped !== undefined) return stopped;
  const changed = restored(view);
  const lack = missingHoldReason(view);
  // A user who changes it again and again keeps the node for no longer than its work may take.
  const waits = lack === undefined ? undefined : late(view, now, lack, 'HoldLost');
  if (waits !== undefined)
    return waits.waiting === undefined || changed === undefined
      ? waits
      : { ...waits, writes: changed.writes ?? [] };
  const others = withoutOthers(view, work, now);
  if (others !== undefined) return others;
  const pod = one.pod ?? podNameFor(snapshot, workPurpose(snapshot.plan, one));
  const announces = [
    announce(
      snapshot.plan,
      'Normal',
      'WorkBegun',
      `The work on node ${one.node} begins (attempt ${one.attempt})`,
    ),
  ];
  const place = {
    name: pod,
    node: one.node,
    what: 'works on the node',
    deadlineSeconds: one.work.timeoutSeconds,
    announces,
  };
  const refusal = snapshot.refusals.get(one.node);
  const what =
    refusal === undefined ? 'its pod is being made' : `the API server refuses its pod: ${refusal}`;
  const step = unbegun({ ...view, slot: { ...one, pod } }, work, now, what);
  return step.waiting === undefined
    ? step
    : { ...step, writes: [createPodWrite(snapshot, work, place)] };
}

/** Ends the turn if the window has closed before the pod could start. */
function outOfWindow(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  const closed = closedWindow(view, now);
  return (
    closed &&
    end(view.slot, now, 'Requeued', `It is released and comes again later: ${closed.message}`)
  );
}

/**
 * Applies a stop before a container of this attempt has run: the first attempt does not begin then,
 * and no other one.
 */
function stoppedBefore(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  const { slot: one, intent } = view;
  if (one.attempt <= 1)
    return (
      beforeWork(view, now, 'The plan was given up before the work began') ?? outOfWindow(view, now)
    );
  if (isOutdated(view)) return fail(view, now, 'The plan was edited before the next attempt');
  const { stop } = intent;
  if (stop === undefined) return undefined;
  return stop.kind === 'Paused'
    ? { slot: one, waiting: stopWaiting(stop, 'another attempt', one.node) }
    : fail(view, now, `The attempts before have failed; no other attempt: ${stop.message}`);
}

/** Waits for a pod of which no container has run. A pause does not undo what has begun. */
function pending(
  view: NodeView,
  work: PodWork,
  pod: WorkPod,
  now: Temporal.Instant,
): NodeStepResult {
  const { slot: one, intent } = view;
  const stopped =
    one.attempt > 1 && intent.stop?.kind === 'Paused' ? undefined : stoppedBefore(view, now);
  return (
    stopped ?? unbegun(view, work, now, `no container of pod ${pod.name} has run${because(pod)}`)
  );
}

function byPod(given: NodeView, work: PodWork, now: Temporal.Instant): NodeStepResult {
  const pod = podOf(given);
  if (pod !== undefined && isForeign(pod, given)) return fail(given, now, foreignPodText(pod));
  const view = noted(given, pod);
  const { slot: one } = view;
  if (work.rebootsNode && one.ranAttempt === one.attempt && isRebooted(view))
    return transition(one, 'Rebooting', now);
  if (pod === undefined && one.podUid === undefined) return begin(view, work, now);
  if (pod === undefined)
    return retryOrFail(view, work, now, 'Somebody has deleted the pod of the work');
  if (isOver(pod)) return ended(view, work, pod, now);
  if (pod.deleting)
    return late(
      view,
      now,
      `somebody has deleted pod ${pod.name}, and it has not ended${because(pod)}`,
    );
  return pod.ran
    ? late(view, now, `pod ${pod.name} has been running${because(pod)}`)
    : pending(view, work, pod, now);
}

function byOthers(view: NodeView, now: Temporal.Instant): NodeStepResult {
  const { slot: one, node } = view;
  // The expression for its end may be another one by now.
  if (isOutdated(view))
    return fail(view, now, 'The plan was edited while somebody else worked on it');
  if (node?.finished === true) return transition(one, 'Verifying', now);
  const trouble =
    typeof node?.finished === 'object' ? ` (the expression fails: ${node.finished.error})` : '';
  return late(view, now, `somebody else has been working on it${trouble}`);
}

/**
 * Handles a node that a user has released in the middle of the work. Work in progress is waited
 * for, not killed.
 */
function withoutHold(view: NodeView, now: Temporal.Instant): NodeStepResult {
  const pod = podOf(view);
  const message = 'Somebody has deleted its Maintenance in the middle of the work';
  if (view.slot.work.kind === 'external' && view.node?.finished !== true && !isOutdated(view))
    return late(view, now, `${message}, and somebody else has been working on it`, 'HoldLost');
  const isUnderWay = pod !== undefined && !isForeign(pod, view) && !isOver(pod) && pod.ran;
  if (!isUnderWay) return fail(view, now, message);
  return late(
    noted(view, pod),
    now,
    `${message}, and pod ${pod.name} has been running`,
    'HoldLost',
  );
}

/** Does the work: the node is held and empty. */
export const working: NodeStateFn = (view, now) => {
  const { slot: one } = view;
  if (one.work.kind === 'replace') return replacing(view, now);
  if (!hasHold(view)) return withoutHold(view, now);
  if (one.work.kind === 'none') return transition(one, 'Verifying', now);
  if (one.work.kind === 'external') return byOthers(view, now);
  const pod = podWorkOf(view);
  return pod === undefined
    ? { slot: one, waiting: { reason: 'Working', message: noImage, node: one.node } }
    : byPod(view, pod, now);
};

/** Returns why the node has not booted, as far as known. */
function unbooted(view: NodeView): string {
  if (isRebooted(view)) return 'it has booted and is not Ready yet';
  const isTold = view.slot.bootIdBefore !== undefined && view.node?.node.bootId !== undefined;
  return isTold
    ? 'it has not booted yet'
    : 'it reports no boot ID, so that nobody can tell whether it has booted';
}

/** Waits for the node to go down and come back. Only another boot ID proves that it has. */
export const rebooting: NodeStateFn = (view, now) => {
  const { slot: one } = view;
  if (isRebooted(view) && view.node !== undefined && isUp(view.node.node))
    return transition(one, 'Verifying', now);
  const until = secondsAfter(one.since, one.work.timeoutSeconds);
  const what = unbooted(view);
  if (isBefore(now, until))
    return {
      slot: one,
      waiting: { reason: 'Rebooting', message: what, node: one.node, until: until },
      requeueAt: until,
    };
  return fail(view, now, `The work has ended, and the node has not come back: ${what}`);
};
