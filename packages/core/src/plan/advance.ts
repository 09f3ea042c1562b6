import { readTime } from '@drydock/apimachinery';
import { withoutNode } from './gone.ts';
import type { InFlight, NodeState } from './in-flight.ts';
import type { PlanSnapshot } from './snapshot.ts';
import {
  type NodeStateFn,
  type NodeStepResult,
  type PlanDirective,
  viewOfNode,
} from './states/common.ts';
import { holding, starting } from './states/hold.ts';
import { soaking, verifying } from './states/proof.ts';
import { releasing } from './states/release.ts';
import { rebooting, working } from './states/work.ts';

const states: Readonly<Record<NodeState, NodeStateFn>> = {
  Starting: starting,
  Holding: holding,
  Working: working,
  Rebooting: rebooting,
  Verifying: verifying,
  Soaking: soaking,
  Releasing: releasing,
};

/** Returns the step of one state of a node in flight. Only a verdict ever frees its slot. */
export function stepOf(
  snapshot: PlanSnapshot,
  one: InFlight,
  intent: PlanDirective,
  now: Temporal.Instant,
): NodeStepResult {
  const view = viewOfNode(snapshot, one, intent);
  const gone = view.node === undefined ? withoutNode(view, now) : undefined;
  return gone ?? states[one.state](view, now);
}

/**
 * Returns the step while the outcome of the last write about the node is unknown: the node and what
 * the status reports of it stay as they are.
 */
export function unansweredStep(
  { plan }: Pick<PlanSnapshot, 'plan'>,
  one: InFlight,
): NodeStepResult {
  const stored = (plan.status['waiting'] ?? []) as readonly {
    readonly reason: string;
    readonly message: string;
    readonly node?: string;
    readonly until?: string;
  }[];
  const said = stored.find(({ node }) => node === one.node);
  const until = readTime(said?.until);
  return {
    slot: one,
    ...(said && {
      waiting: {
        reason: said.reason,
        message: said.message,
        node: one.node,
        ...(until && { until }),
      },
    }),
  };
}

/**
 * Returns the next step of one node in flight: through every state that neither waits nor acts, to
 * the first one that does. Each state that is written costs the plan a request, and all its other
 * nodes the time of it.
 */
export function advance(
  snapshot: PlanSnapshot,
  one: InFlight,
  intent: PlanDirective,
  now: Temporal.Instant,
): NodeStepResult {
  const step = stepOf(snapshot, one, intent, now);
  const { slot: next, writes, waiting, hooks } = step;
  // States follow each other in their order, and attempts are bounded, so the recursion ends.
  const isPassed =
    next !== undefined &&
    next !== one &&
    writes === undefined &&
    waiting === undefined &&
    hooks === undefined;
  return isPassed ? advance(snapshot, next, intent, now) : step;
}
