import { isBefore, secondsAfter } from '../../time.ts';
import { gateAtSoak } from '../gates/ask-gates.ts';
import { become, end, fail, hasHold, isOutdated, isRebooted, isSound, type NodeView, type State, type Step } from './common.ts';

/** What is not as it should be; undefined when the node is well and done. `final`: it will not become so by waiting. */
const missing = (view: NodeView): { readonly what: string; readonly final: boolean } | undefined => {
  const { node, snapshot } = view;
  // What has been proven stays so: a boot ID that comes back would keep the node soaking for ever.
  const rebooted = view.one.rebooted === true || isRebooted(view);
  if (snapshot.plan.rebooted === 'Required' && !rebooted) return { what: 'it has not booted since the work began', final: true };
  if (node === undefined || !isSound(node.node)) return { what: 'it is not Ready', final: false };
  if (node.done === true) return undefined;
  if (typeof node.done === 'object') return { what: `whether it is done is unknown: ${node.done.error}`, final: false };
  return { what: snapshot.plan.expressions.done !== undefined ? 'spec.done.expression is false' : 'it is still due', final: rebooted };
};

/** What was changed meanwhile asks for other work: this node has finished its own, is well, and has its turn again. */
const finished = (view: NodeView, now: Temporal.Instant): Step | undefined =>
  isOutdated(view) && view.node !== undefined && isSound(view.node.node)
    ? end(view.one, now, 'Skipped', 'The plan was edited while it was worked on')
    : undefined;

/** The work has ended: the node itself has to show that it is done. */
export const verifying: State = (view, now) => {
  const { one, snapshot } = view;
  const outdated = finished(view, now);
  if (outdated !== undefined) return outdated;
  const lack = missing(view);
  if (lack === undefined) return become(one, 'Soaking', now, { soakSince: now, ...(isRebooted(view) && { rebooted: true }) });
  const until = secondsAfter(one.since, snapshot.plan.provenWithinSeconds);
  if (lack.final || !isBefore(now, until)) return fail(view, now, `The work has ended, and the node is not done: ${lack.what}`);
  return { one, waiting: { word: 'Verifying', who: lack.what, node: one.node, ends: until }, again: until };
};

const soak = (view: NodeView, seconds: number, now: Temporal.Instant, done: () => Step): Step => {
  const { one } = view;
  const gate = gateAtSoak(view.snapshot);
  const lack = missing(view)?.what ?? gate;
  if (lack !== undefined) {
    const { soakSince: _soakSince, ...broken } = one;
    return { one: broken, waiting: { word: 'SoakBroken', who: `${lack}: its soak time starts again`, node: one.node } };
  }
  const { soakSince = now } = one;
  const until = secondsAfter(soakSince, seconds);
  if (!isBefore(now, until)) return done();
  return {
    one: { ...one, soakSince },
    waiting: { word: 'Soaking', who: 'its soak time is not over', node: one.node, ends: until },
    again: until,
  };
};

/** Everything has to stay well without a break, still without pods. */
export const soaking: State = (view, now) => {
  const { one, node, snapshot } = view;
  const outdated = finished(view, now);
  if (outdated !== undefined) return outdated;
  if (node?.done === false) return fail(view, now, 'It was done and is not any more');
  if (!hasHold(view)) return end(one, now, 'Done', 'Done; somebody has released it before its soak time was over');
  return soak(view, snapshot.plan.soakSeconds, now, () => end(one, now, 'Done', 'Done'));
};

/** The quiet time with pods on it, after the release. */
export const settle = (view: NodeView, now: Temporal.Instant, done: () => Step): Step => {
  const seconds = view.snapshot.plan.soakAfterReleaseSeconds;
  const isQuietAnyway = seconds === 0 || view.node === undefined || view.one.outcome?.verdict !== 'Done';
  return isQuietAnyway ? done() : soak(view, seconds, now, done);
};
