import { isBefore, secondsAfter, short } from '@drydock/apimachinery';
import { gateAtSoak } from '../gates/evaluate-gates.ts';
import type { InFlight } from '../in-flight.ts';
import type { WaitReason } from '../snapshot.ts';
import { foreignTaints, isHealthy, livesOf, unsoundness } from '../stop.ts';
import {
  end,
  fail,
  hasHold,
  isOutdated,
  isRebooted,
  type NodeStateFn,
  type NodeStepResult,
  type NodeView,
  transition,
} from './common.ts';

/**
 * Proof: the node itself shows that it is healthy and done, and stays so. No look of the proof is a
 * verdict before its time is over.
 */

/**
 * Returns a taint that was added during the work, for example while a network or a driver is not
 * ready yet.
 */
function newTaint({ slot: { taintsBefore }, node }: NodeView): string | undefined {
  return node && taintsBefore && foreignTaints(node.node).find(id => !taintsBefore.includes(id));
}

/** Returns what is not as it should be; undefined when the node is healthy and done. */
function missing(view: NodeView): string | undefined {
  const { node, snapshot } = view;
  // A proof stays valid: a boot ID that returns to its old value would keep the node soaking for
  // ever.
  const rebooted = view.slot.rebooted === true || isRebooted(view);
  if (snapshot.plan.rebooted === 'Required' && !rebooted)
    return 'it has not booted since the work began';
  if (node === undefined) return 'it is not there';
  const unsound = unsoundness(node.node);
  if (unsound !== undefined) return `it ${unsound}`;
  const taint = newTaint(view);
  if (taint !== undefined)
    return `its taint ${taint}, which was not there before the work, keeps pods from it`;
  if (node.done === true) return undefined;
  if (typeof node.done === 'object') return `whether it is done is unknown: ${node.done.error}`;
  return snapshot.plan.expressions.done !== undefined
    ? 'spec.done.expression is false'
    : 'it is still due';
}

/**
 * Ends the turn if the plan was edited meanwhile: this node has finished its own work, is healthy,
 * and gets another turn.
 */
function finished(view: NodeView, now: Temporal.Instant): NodeStepResult | undefined {
  return isOutdated(view) && view.node !== undefined && isHealthy(view.node.node)
    ? end(view.slot, now, 'Skipped', 'The plan was edited while it was worked on')
    : undefined;
}

/**
 * Waits for the proof after the end of the work: the node itself has to show that it is done,
 * within the time that the plan allows.
 */
export const verifying: NodeStateFn = (view, now) => {
  const { slot: one, snapshot } = view;
  const outdated = finished(view, now);
  if (outdated !== undefined) return outdated;
  const lack = missing(view);
  if (lack === undefined)
    return transition(one, 'Soaking', now, {
      ...freshSoak(view, now),
      ...(isRebooted(view) && { rebooted: true }),
    });
  const until = secondsAfter(one.since, snapshot.plan.provenWithinSeconds);
  if (isBefore(now, until))
    return {
      slot: one,
      waiting: { reason: 'Verifying', message: lack, node: one.node, until: until },
      requeueAt: until,
    };
  const within = `${snapshot.plan.provenWithinSeconds} s after its end`;
  return fail(view, now, `The work has ended, and ${within} the node is not done: ${lack}`);
};

function stateOfNode({ node }: NodeView): string {
  return short(node === undefined ? '/' : livesOf(node.node));
}

function markOf(view: NodeView): string {
  return `${view.snapshot.watch}/${stateOfNode(view)}`;
}

type Soak = { readonly soakSince: Temporal.Instant; readonly soakMark: string };

function freshSoak(view: NodeView, now: Temporal.Instant): Soak {
  return { soakSince: now, soakMark: markOf(view) };
}

/**
 * Returns the current quiet time: watched by this process without a break, in this start of the
 * node. Undefined: it begins now.
 */
function soakNow(view: NodeView): Soak | undefined {
  const { soakSince, soakMark } = view.slot;
  return soakSince !== undefined && soakMark === markOf(view) ? { soakSince, soakMark } : undefined;
}

/** Reports whether the node has booted, or was not Ready, since the last look. */
function wasBroken(view: NodeView): boolean {
  const { soakMark } = view.slot;
  return soakMark !== undefined && !soakMark.endsWith(`/${stateOfNode(view)}`);
}

/** Resets a quiet time that was broken. */
function anew({ soakSince: _soakSince, soakMark: _soakMark, ...rest }: InFlight): InFlight {
  return rest;
}

/**
 * Handles a node that was unhealthy in its quiet time: it gets the time of the proof, counted from
 * the first break; if it is unhealthy after that it has failed.
 */
function afterBreak(view: NodeView, now: Temporal.Instant, lack: string) {
  const { snapshot, intent } = view;
  const { provenWithinSeconds } = snapshot.plan;
  const soakBrokenAt = view.slot.soakBrokenAt ?? now;
  const until = secondsAfter(soakBrokenAt, provenWithinSeconds);
  const late = isBefore(now, until)
    ? undefined
    : `It was done, and has not stayed so ${provenWithinSeconds} s after that was seen first: ${lack}`;
  const failure = intent.withdrawn
    ? `The plan was given up, and in its soak time it is not well: ${lack}`
    : late;
  return { one: { ...anew(view.slot), soakBrokenAt }, until, failure };
}

function soak(
  view: NodeView,
  seconds: number,
  now: Temporal.Instant,
  done: () => NodeStepResult,
  failed: (message: string) => NodeStepResult,
): NodeStepResult {
  const { slot: one } = view;
  const lack = missing(view);
  const found =
    lack ?? (wasBroken(view) ? 'it has booted, or was not Ready, meanwhile' : undefined);
  const breach = found === undefined ? undefined : afterBreak(view, now, found);
  if (breach?.failure !== undefined) return failed(breach.failure);
  const waiting = (why: string): WaitReason => ({
    reason: 'SoakBroken',
    message: `${why}: its soak time starts again`,
    node: one.node,
  });
  if (breach !== undefined && lack !== undefined) {
    return {
      slot: breach.one,
      waiting: { ...waiting(lack), until: breach.until },
      requeueAt: breach.until,
    };
  }
  const gate = gateAtSoak(view.snapshot);
  if (gate !== undefined) return { slot: anew(breach?.one ?? one), waiting: waiting(gate) };
  return soaks({ ...view, slot: breach?.one ?? one }, seconds, now, done);
}

/** Continues the quiet time of a healthy node. */
function soaks(
  view: NodeView,
  seconds: number,
  now: Temporal.Instant,
  done: () => NodeStepResult,
): NodeStepResult {
  const under = soakNow(view) ?? freshSoak(view, now);
  const until = secondsAfter(under.soakSince, seconds);
  if (!isBefore(now, until)) return done();
  return {
    slot: { ...view.slot, ...under },
    waiting: {
      reason: 'Soaking',
      message: 'its soak time is not over',
      node: view.slot.node,
      until: until,
    },
    requeueAt: until,
  };
}

/** Soaks the node: everything has to stay healthy without a break, still without pods. */
export const soaking: NodeStateFn = (view, now) => {
  const { slot: one, snapshot } = view;
  const outdated = finished(view, now);
  if (outdated !== undefined) return outdated;
  if (!hasHold(view)) {
    const lack = missing(view);
    const message = 'somebody has released it before its soak time was over';
    return lack === undefined
      ? end(one, now, 'Done', `Done; ${message}`)
      : end(one, now, 'Failed', `It is not done: ${lack}, and ${message}`);
  }
  return soak(
    view,
    snapshot.plan.soakSeconds,
    now,
    () => end(one, now, 'Done', 'Done'),
    message => fail(view, now, message),
  );
};

/**
 * Watches the quiet time with pods on the node, after the release: a node that is unhealthy then
 * has failed, and no hold is on it.
 */
export function settle(
  view: NodeView,
  now: Temporal.Instant,
  done: () => NodeStepResult,
): NodeStepResult {
  const seconds = view.snapshot.plan.soakAfterReleaseSeconds;
  const isQuietAnyway =
    seconds === 0 || view.node === undefined || view.slot.outcome?.verdict !== 'Done';
  const failed = (message: string): NodeStepResult => {
    const outcome = {
      verdict: 'Failed',
      state: 'Releasing',
      message: `${message}; it had been released`,
      held: false,
    } as const;
    return transition(view.slot, 'Releasing', now, { outcome });
  };
  return isQuietAnyway ? done() : soak(view, seconds, now, done, failed);
}
