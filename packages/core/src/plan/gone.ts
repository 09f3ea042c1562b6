import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { end, type NodeStepResult, type NodeView, transition } from './states/common.ts';
import { deletePodWrite } from './writes.ts';

/**
 * Handling of a node in flight whose Node object does not exist any more, or whose name belongs to
 * another Node.
 */

/**
 * Reports whether a container of the pod of this attempt has run, or may have: a pod that is gone
 * as well proves nothing, unless its creation was refused.
 */
function mayHaveRun({ slot: { node, pod: name, podUid }, snapshot }: NodeView): boolean {
  const pod = name === undefined ? undefined : snapshot.pods.get(name);
  if (pod !== undefined && (podUid === undefined || pod.uid === podUid)) return pod.ran;
  return podUid !== undefined || (name !== undefined && !snapshot.refusals.has(node));
}

/** Reports whether something may have been done to the node, beyond holding and draining it. */
function hasBegun(view: NodeView): boolean {
  const { work, state, ranAttempt } = view.slot;
  if (work.kind === 'none' || state === 'Starting' || state === 'Holding') return false;
  return (
    state !== 'Working' || work.kind === 'external' || ranAttempt !== undefined || mayHaveRun(view)
  );
}

/**
 * Reports whether the node was proven, and has been quiet for the required time: it disappeared
 * only after that.
 */
function isProven(
  { slot: { outcome, soakSince }, snapshot: { plan } }: NodeView,
  now: Temporal.Instant,
): boolean {
  const seconds = outcome?.verdict === 'Done' ? plan.soakAfterReleaseSeconds : 0;
  return (
    seconds === 0 || (soakSince !== undefined && !isBefore(now, secondsAfter(soakSince, seconds)))
  );
}

/**
 * Returns how the work takes the machine away for a while, and for how long at most: it boots, or
 * an external tool installs it again. Undefined: the work does not.
 */
function absenceOf({
  slot: one,
  snapshot: { plan },
}: NodeView): { readonly reason: string; readonly seconds: number } | undefined {
  const { work, state, bootIdBefore, podUid } = one;
  const { timeoutSeconds: seconds } = work;
  if (work.kind === 'external' && state === 'Working') return { reason: state, seconds };
  // The tool has ended, and the required boot may be still to come.
  if (work.kind === 'external' && state === 'Verifying' && plan.rebooted === 'Required')
    return { reason: state, seconds: plan.provenWithinSeconds };
  const isDown = state === 'Rebooting' || (state === 'Working' && podUid !== undefined);
  return work.rebootsNode && bootIdBefore !== undefined && isDown
    ? { reason: 'Rebooting', seconds }
    : undefined;
}

/**
 * Waits for the node to register again. Where a cloud controller manages nodes, a machine that is
 * off while it reboots loses its Node object, as does one that is installed again; it registers
 * again under its name, and its turn goes on with that object. A machine that is known to be
 * another one does not count. Undefined: the wait is over, or there is none.
 */
function registersAgain(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  const { slot: one, snapshot } = view;
  const absence = absenceOf(view);
  if (absence === undefined) return undefined;
  const { reason, seconds } = absence;
  const other = snapshot.nodes.get(one.node)?.node;
  const until = secondsAfter(one.since, seconds);
  if (!isBefore(now, until)) return undefined;
  if (other === undefined) {
    const message =
      'its Node object does not exist any more: its machine may register again under its name';
    return { slot: one, waiting: { reason, message, node: one.node, until }, requeueAt: until };
  }
  if (
    one.providerId !== undefined &&
    other.providerId !== undefined &&
    one.providerId !== other.providerId
  )
    return undefined;
  const pod = one.pod === undefined ? undefined : snapshot.pods.get(one.pod);
  if (pod !== undefined) {
    const waiting = {
      reason,
      message: `pod ${pod.name} of its former Node object is being deleted`,
      node: one.node,
      until,
    };
    return {
      slot: one,
      waiting,
      requeueAt: until,
      ...(!pod.deleting && { writes: [deletePodWrite(pod)] }),
    };
  }
  const found = { ...one, uid: other.uid, heldAs: one.heldAs ?? one.uid };
  return reason === one.state ? { slot: found } : transition(found, 'Rebooting', now);
}

/**
 * Returns the step without a Node object; undefined if the state can go on without it, for example
 * because the machine is replaced, and its node with it.
 */
export function withoutNode(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  const { slot: one } = view;
  if (one.work.kind === 'replace' && (one.state === 'Working' || one.state === 'Releasing'))
    return undefined;
  if (one.state === 'Releasing' && isProven(view, now)) return undefined;
  if (!hasBegun(view))
    return end(
      one,
      now,
      'Gone',
      `Node ${one.node} (${one.uid}) does not exist any more; nothing was done to it`,
    );
  const what = 'its work had begun, and nobody can tell what came of it';
  return (
    registersAgain(view, now) ??
    end(one, now, 'Failed', `Node ${one.node} (${one.uid}) does not exist any more: ${what}`)
  );
}
