import type { InFlight, NodeState } from './in-flight.ts';
import type { PlanSnapshot } from './snapshot.ts';
import { end, type PlanIntent, type State, type Step, viewOfNode } from './states/common.ts';
import { holding, starting } from './states/hold.ts';
import { soaking, verifying } from './states/proof.ts';
import { releasing } from './states/release.ts';
import { rebooting, working } from './states/work.ts';

const states: Readonly<Record<NodeState, State>> = {
  Starting: starting,
  Holding: holding,
  Working: working,
  Rebooting: rebooting,
  Verifying: verifying,
  Soaking: soaking,
  Releasing: releasing,
};

/** What one state of a node in flight comes to. Nothing but a verdict, or that the node is gone, ever frees its slot. */
export const stepOf = (snapshot: PlanSnapshot, one: InFlight, intent: PlanIntent, now: Temporal.Instant): Step => {
  const view = viewOfNode(snapshot, one, intent);
  // A machine that is replaced takes its node with it: that is the work.
  const mayBeGone = one.state === 'Releasing' || (one.state === 'Working' && one.work.kind === 'replace');
  if (view.node === undefined && !mayBeGone) {
    return end(one, now, 'Gone', `Node ${one.node} (${one.uid}) does not exist any more`);
  }
  return states[one.state](view, now);
};

/**
 * The next step of one node in flight: through every state that has nothing to wait for and nothing to do, to the first one that has. Each state that is written costs the
 * plan a request, and all its other nodes the time of it.
 */
export const advance = (snapshot: PlanSnapshot, one: InFlight, intent: PlanIntent, now: Temporal.Instant): Step => {
  const step = stepOf(snapshot, one, intent, now);
  const { one: next, writes, waiting, hooks } = step;
  // States follow each other in their order, and attempts are bounded: this ends.
  const isPassed = next !== undefined && next !== one && writes === undefined && waiting === undefined && hooks === undefined;
  return isPassed ? advance(snapshot, next, intent, now) : step;
};
