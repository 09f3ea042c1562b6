import type { InFlight, NodeState } from './in-flight.ts';
import type { PlanSnapshot } from './snapshot.ts';
import { end, type State, type Step, viewOfNode } from './states/common.ts';
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

/** The next step of one node in flight. Nothing but a verdict, or that the node is gone, ever frees its slot. */
export const advance = (snapshot: PlanSnapshot, one: InFlight, withdrawn: boolean, now: Temporal.Instant): Step => {
  const view = viewOfNode(snapshot, one, withdrawn);
  if (view.node === undefined && one.state !== 'Releasing') {
    return end(one, now, 'Gone', `Node ${one.node} (${one.uid}) does not exist any more`);
  }
  return states[one.state](view, now);
};
