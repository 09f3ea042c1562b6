import { isBefore, secondsAfter } from '../../time.ts';
import type { PodWork } from '../plan.ts';
import { rebootPodSpec } from '../pods/reboot.ts';
import type { WorkPod } from '../snapshot.ts';
import { announce, createPodWrite, podNameOf } from '../writes.ts';
import { become, end, fail, hasHold, holdLack, isOutdated, isRebooted, isSound, type NodeView, type State, type Step } from './common.ts';
import { replacing } from './replace.ts';

/** The plan has a problem then, and begins with no node; this one was begun before. */
const noImage = 'the image of the operator is not known';

/** Of work that the plan asks for no more: its pod is followed, and no other one is made. */
const pastWork = ({ work }: NodeView['one']): PodWork => ({ ...work, kind: 'job', podSpec: {}, attempts: 0 });

/** The work as a pod, where it is one: the built-in reboot is a pod like any other. */
const podWorkOf = (view: NodeView): PodWork | undefined => {
  const { plan, settings } = view.snapshot;
  const { work } = plan;
  if (isOutdated(view)) return pastWork(view.one);
  if (work.kind === 'job') return work;
  const image = work.kind === 'reboot' ? (work.image ?? settings.image) : undefined;
  if (work.kind !== 'reboot' || image === undefined) return undefined;
  return { kind: 'job', podSpec: rebootPodSpec(image), rebootsNode: true, timeoutSeconds: work.timeoutSeconds, attempts: 1 };
};

/** The attempt is over; the next one, while there is one left. */
const again = (view: NodeView, work: PodWork, now: Temporal.Instant, message: string): Step => {
  const { one } = view;
  if (one.attempt >= work.attempts) return fail(view, now, message);
  const { podUid: _podUid, ...rest } = one;
  return become(rest, 'Working', now, { attempt: one.attempt + 1 });
};

const late = (view: NodeView, now: Temporal.Instant, what: string, word: string = view.one.state): Step => {
  const { one } = view;
  const { timeoutSeconds } = one.work;
  const until = secondsAfter(one.since, timeoutSeconds);
  if (!isBefore(now, until)) return fail(view, now, `${what} for ${timeoutSeconds} s, which is its limit`);
  return { one, waiting: { word, who: what, node: one.node, ends: until }, again: until };
};

const podOf = ({ snapshot, one }: NodeView): WorkPod | undefined => {
  const pod = snapshot.pods.get(podNameOf(snapshot.plan, one));
  return pod !== undefined && (one.podUid === undefined || pod.uid === one.podUid) ? pod : undefined;
};

/** A pod of its name that it has not made. */
const isForeign = (pod: WorkPod, { snapshot, one }: NodeView): boolean => pod.plan !== snapshot.plan.name || pod.nodeName !== one.node;

const ended = (view: NodeView, work: PodWork, pod: WorkPod, now: Temporal.Instant): Step => {
  const { one } = view;
  if (pod.phase === 'Succeeded') return become(one, work.rebootsNode ? 'Rebooting' : 'Verifying', now);
  // A node that goes down takes its pods with it: whether the work is done, its next boot will say.
  const goesDown = pod.killed || (view.node !== undefined && !isSound(view.node.node));
  if (work.rebootsNode && goesDown) return become(one, 'Rebooting', now);
  return again(view, work, now, `The work has failed: ${pod.message}`);
};

const isOver = ({ phase }: WorkPod): boolean => phase === 'Succeeded' || phase === 'Failed';

/** Makes the pod of this attempt, on a node that is held and empty, and for the work that the node was begun with alone. */
const begin = (view: NodeView, work: PodWork, now: Temporal.Instant): Step => {
  const { one, snapshot } = view;
  if (isOutdated(view)) {
    const isFirst = one.attempt <= 1;
    return isFirst
      ? end(one, now, 'Skipped', 'The plan was edited before the work began')
      : fail(view, now, 'The plan was edited before the next attempt');
  }
  const lack = holdLack(view);
  if (lack !== undefined) return late(view, now, lack, 'HoldLost');
  const announces = [announce(snapshot.plan, 'Normal', 'WorkBegun', `The work on node ${one.node} begins (attempt ${one.attempt})`)];
  const place = { name: podNameOf(snapshot.plan, one), node: one.node, what: 'works on the node', announces };
  const step = late(view, now, 'its pod is being made');
  return step.waiting === undefined ? step : { ...step, writes: [createPodWrite(snapshot, work, place)] };
};

const byPod = (view: NodeView, work: PodWork, now: Temporal.Instant): Step => {
  const { one } = view;
  const pod = podOf(view);
  if (work.rebootsNode && isRebooted(view)) return become(one, 'Rebooting', now);
  if (pod === undefined && one.podUid === undefined) return begin(view, work, now);
  if (pod === undefined) return again(view, work, now, 'Somebody has deleted the pod of the work');
  if (isForeign(pod, view)) return fail(view, now, `Pod ${pod.namespace}/${pod.name} exists and is not part of this plan: delete it`);
  if (one.podUid === undefined) return byPod({ ...view, one: { ...one, podUid: pod.uid } }, work, now);
  if (isOver(pod)) return ended(view, work, pod, now);
  return late(view, now, `pod ${pod.name} has been ${pod.phase.toLowerCase()}`);
};

const byOthers = (view: NodeView, now: Temporal.Instant): Step => {
  const { one, node } = view;
  // What says that it has ended may be another expression by now.
  if (isOutdated(view)) return fail(view, now, 'The plan was edited while somebody else worked on it');
  if (node?.finished === true) return become(one, 'Verifying', now);
  const trouble = typeof node?.finished === 'object' ? ` (the expression fails: ${node.finished.error})` : '';
  return late(view, now, `somebody else has been working on it${trouble}`);
};

/** Somebody has released the node in the middle of the work. Work that is under way is waited for, not killed. */
const withoutHold = (view: NodeView, now: Temporal.Instant): Step => {
  const pod = podOf(view);
  const message = 'Somebody has deleted its Maintenance in the middle of the work';
  const isUnderWay = pod !== undefined && !isForeign(pod, view) && !isOver(pod);
  return isUnderWay
    ? late(view, now, `${message}, and pod ${pod.name} has been ${pod.phase.toLowerCase()}`, 'HoldLost')
    : fail(view, now, message);
};

/** The node is held and empty: the work is done. */
export const working: State = (view, now) => {
  const { one } = view;
  if (one.work.kind === 'replace') return replacing(view, now);
  if (!hasHold(view)) return withoutHold(view, now);
  if (one.work.kind === 'none') return become(one, 'Verifying', now);
  if (one.work.kind === 'external') return byOthers(view, now);
  const pod = podWorkOf(view);
  return pod === undefined ? { one, waiting: { word: 'Working', who: noImage, node: one.node } } : byPod(view, pod, now);
};

const proofOf = ({ node }: NodeView): boolean => node !== undefined && isSound(node.node);

/** Why the node has not booted, as far as that can be seen. */
const unbooted = (view: NodeView): string => {
  if (isRebooted(view)) return 'it has booted and is not Ready yet';
  const isTold = view.one.bootIdBefore !== undefined && view.node?.node.bootId !== undefined;
  return isTold ? 'it has not booted yet' : 'it reports no boot ID, so that nobody can tell whether it has booted';
};

/** The node goes down and comes back. Only another boot ID says that it has. */
export const rebooting: State = (view, now) => {
  const { one } = view;
  if (isRebooted(view) && proofOf(view)) return become(one, 'Verifying', now);
  const until = secondsAfter(one.since, one.work.timeoutSeconds);
  const what = unbooted(view);
  if (isBefore(now, until)) return { one, waiting: { word: 'Rebooting', who: what, node: one.node, ends: until }, again: until };
  return fail(view, now, `The work has ended, and the node has not come back: ${what}`);
};

/** The name of the pod of each attempt so far. */
export const podNamesOf = ({ snapshot, one }: NodeView): readonly string[] =>
  Array.from({ length: one.attempt }, (_, index) => podNameOf(snapshot.plan, { ...one, attempt: index + 1 }));
