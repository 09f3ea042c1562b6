import { deleteChildWrite } from '../../maintenance/delete-child.ts';
import { secondsBetween } from '../../time.ts';
import type { InFlight, NodeVerdict } from '../in-flight.ts';
import type { Waiting } from '../snapshot.ts';
import { deletePodWrite, recordWrite } from '../writes.ts';
import { end, hooksOf, isRebooted, type NodeView, requeuesOf, type State, type Step } from './common.ts';
import { settle } from './proof.ts';
import { withdrawReplacement } from './replace.ts';
import { podNamesOf } from './work.ts';

/** What the work took, as far as it has ended. */
const workTimes = ({ workStartedAt, rebootStartedAt, workEndedAt }: InFlight): Pick<NodeVerdict, 'workSeconds' | 'rebootSeconds'> => {
  if (workStartedAt === undefined || workEndedAt === undefined) return {};
  const workSeconds = secondsBetween(workStartedAt, rebootStartedAt ?? workEndedAt);
  return { workSeconds, ...(rebootStartedAt && { rebootSeconds: secondsBetween(rebootStartedAt, workEndedAt) }) };
};

const verdictOf = (view: NodeView, now: Temporal.Instant): NodeVerdict | undefined => {
  const { one } = view;
  if (one.outcome === undefined) return undefined;
  return {
    node: one.node,
    uid: one.uid,
    stage: one.stage,
    ...one.outcome,
    startedAt: one.startedAt,
    completedAt: now,
    attempts: one.attempt,
    rebooted: one.rebooted ?? isRebooted(view),
    requeues: requeuesOf(view) + (one.outcome.verdict === 'Requeued' ? 1 : 0),
    ...workTimes(one),
  };
};

/**
 * What an earlier revision has come to says nothing about this one. A node that it has left unfinished stays held, and has its turn in its stage when somebody has it
 * tried again: nothing begins with it past stages, approvals and gates.
 */
const ofEarlierRevision = ({ one, node, snapshot: { plan } }: NodeView, revision: string, now: Temporal.Instant): Step => {
  const { outcome, podUid: _podUid, ...rest } = one;
  if (outcome?.held !== true) return {};
  if (node?.due === false) return end({ ...rest, revision }, now, 'Skipped', 'It is not due any more since the plan was edited');
  const message = `An earlier revision has left it unfinished: drydock plan retry ${plan.name} ${one.node} has it worked on in its turn`;
  return end({ ...rest, revision, startedAt: now }, now, 'Failed', message, true);
};

/** It is recorded first; then the slot is free. `waiting` is what the status says meanwhile. */
const record = (view: NodeView, now: Temporal.Instant, waiting?: Waiting): Step => {
  const { one, snapshot } = view;
  const verdict = verdictOf(view, now);
  const { run } = snapshot.plan;
  if (verdict === undefined || run === undefined) return {};
  if (one.revision !== run.revision && !(one.outcome?.held === true && view.intent.withdrawn))
    return ofEarlierRevision(view, run.revision, now);
  const isRecorded = snapshot.slices.some(({ verdicts }) =>
    verdicts.some(({ uid, startedAt }) => uid === one.uid && startedAt.epochMilliseconds === one.startedAt.epochMilliseconds),
  );
  const hooks = isRecorded || view.intent.withdrawn ? undefined : hooksOf(view, 'AfterNode', now);
  if (hooks !== undefined) return hooks;
  return isRecorded ? {} : { one, writes: [recordWrite(snapshot, verdict, run.revision)], ...(waiting && { waiting }) };
};

/** The verdict is known: what was made for the node is taken away, and the verdict recorded. */
export const releasing: State = (view, now) => {
  const { one, child, snapshot } = view;
  if (one.outcome?.held === true) return record(view, now);
  const withdrawn = one.work.kind === 'replace' ? withdrawReplacement(view) : undefined;
  if (withdrawn !== undefined) return withdrawn;
  const pods = podNamesOf(view).flatMap(name => snapshot.pods.get(name) ?? []);
  const left = pods.filter(pod => pod.plan === snapshot.plan.name && pod.nodeName === one.node && !pod.deleting);
  const isHeld = child !== undefined && child.plan === snapshot.plan.name;
  // The pods first: writes are made in their order, and none after one that failed.
  const writes = [...left.map(deletePodWrite), ...(isHeld && !child.deleting ? [deleteChildWrite(child)] : [])];
  // One text for all of it: another one would cost the plan a request.
  const waiting: Waiting = { word: 'Releasing', who: 'it is being given back, and its verdict recorded', node: one.node };
  return isHeld || writes.length > 0 ? { one, writes, waiting } : settle(view, now, () => record(view, now, waiting));
};
