import { isBefore, secondsAfter } from '../../time.ts';
import { createChildWrite } from '../writes.ts';
import { become, end, holdLack, hooksOf, isOutdated, type NodeView, putOff, requeuesOf, type State, type Step } from './common.ts';
import { beginReplacement } from './replace.ts';

/** The slot is written; now the Maintenance that holds the node is made. */
export const starting: State = (view, now) => {
  const { one, child, snapshot, intent } = view;
  const { work } = snapshot.plan;
  if (intent.withdrawn) return end(one, now, 'Skipped', 'The plan was given up before anything was done');
  if (isOutdated(view)) return end(one, now, 'Skipped', 'The plan was edited before anything was done');
  if (intent.halted !== undefined) return putOff(view, intent.halted, now);
  const hooks = hooksOf(view, 'BeforeNode', now);
  if (hooks !== undefined) return hooks;
  if (work.kind === 'replace') return beginReplacement(view, work, now);
  if (child === undefined) {
    return {
      one,
      writes: [createChildWrite(snapshot, one)],
      waiting: { word: 'Holding', who: 'its Maintenance is being created', node: one.node },
    };
  }
  if (child.plan !== snapshot.plan.name || child.nodeName !== one.node) {
    return end(one, now, 'Failed', `Maintenance ${child.name} exists and is not part of this plan: delete or rename it`);
  }
  return become(one, 'Holding', now);
};

const stuck = ({ one, snapshot }: NodeView): Temporal.Instant | undefined => {
  const { drainStuck } = snapshot.plan;
  return drainStuck && secondsAfter(one.since, drainStuck.afterSeconds);
};

const drainEnds = (view: NodeView, now: Temporal.Instant): Step => {
  const { one, child, snapshot } = view;
  const said = typeof child?.status['message'] === 'string' ? child.status['message'] : 'its drain has not begun';
  const at = stuck(view);
  const waiting = { word: 'Draining', who: said, node: one.node };
  if (at === undefined) return { one, waiting };
  if (isBefore(now, at)) return { one, waiting: { ...waiting, ends: at }, again: at };
  const times = snapshot.plan.drainStuck?.times ?? 0;
  if (requeuesOf(view) < times) return end(one, now, 'Requeued', `Its drain was stuck; the node is released and retried later: ${said}`);
  return end(one, now, 'Failed', `Its drain is stuck: ${said}`);
};

/** Whoever else works on this node: both works share the hold, one after the other. */
const workedOnBy = ({ snapshot, one }: NodeView): string | undefined =>
  snapshot.others.find(({ inFlight }) =>
    inFlight.some(({ uid, state }) => uid === one.uid && (state === 'Working' || state === 'Rebooting' || state === 'Verifying')),
  )?.name;

/** The node is being drained. Nothing on it has been changed yet: whatever goes wrong gives it back. */
export const holding: State = (view, now) => {
  const { one, child, node, intent } = view;
  if (intent.withdrawn) return end(one, now, 'Skipped', 'The plan was given up before the work began');
  if (isOutdated(view)) return end(one, now, 'Skipped', 'The plan was edited before the work began');
  if (intent.halted !== undefined) return putOff(view, intent.halted, now);
  if (child === undefined || child.deleting) {
    return end(one, now, 'Failed', 'Somebody has deleted its Maintenance before the work began');
  }
  if (child.history.state === 'Failed') {
    const why = child.status['message'];
    return end(
      one,
      now,
      'Failed',
      `Its drain has failed: ${typeof why === 'string' ? why : (child.history.failure ?? 'no reason is known')}`,
    );
  }
  if (child.history.state !== 'Drained') return drainEnds(view, now);
  const lack = holdLack(view);
  if (lack !== undefined) return { one, waiting: { word: 'HoldLost', who: lack, node: one.node } };
  const other = workedOnBy(view);
  if (other !== undefined) return { one, waiting: { word: 'OtherPlanWorks', who: `plan ${other} works on it`, node: one.node } };
  const bootId = node?.node.bootId;
  return become(one, 'Working', now, { attempt: 1, ...(bootId !== undefined && { bootIdBefore: bootId }) });
};
