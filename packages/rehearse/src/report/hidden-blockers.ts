import { part, text } from '@drydock/kube-sim';
import type { Order, PlannedMaintenance, SimulatedRun } from '../simulate/run.ts';
import { blockersOf, type ForecastBlocker } from './forecast.ts';

/**
 * Causes of pods that the policy refuses to evict, because of which the operator evicts no other
 * pod of their node.
 */
const refusals = new Set(['LocalData', 'Unmanaged']);

function idOf({ node, reason, what = '' }: ForecastBlocker): string {
  return `${node} ${reason} ${what}`;
}

/**
 * Returns the same maintenance with a policy that refuses no pods. Kinds of other operators refuse
 * none.
 */
function widened(plannedMaintenance: PlannedMaintenance): PlannedMaintenance {
  const { object } = plannedMaintenance;
  if (!text(object, 'apiVersion').startsWith('drydock.dev/')) return plannedMaintenance;
  const drain = { ...part(object, 'spec', 'drain'), force: true, deleteEmptyDirData: true };
  return { ...plannedMaintenance, object: { ...object, spec: { ...part(object, 'spec'), drain } } };
}

/**
 * Returns further blockers on nodes where the policy refuses pods, by one more run in which it does
 * not; undefined where it refuses none. A node with a refused pod does not show later blockers.
 */
export async function hiddenBlockers(
  runs: readonly SimulatedRun[],
  order: Order,
  playOnce: (wider: Order) => Promise<SimulatedRun>,
): Promise<readonly ForecastBlocker[] | undefined> {
  const known = blockersOf(runs);
  const stopped = new Set(
    known.filter(({ reason }) => refusals.has(reason)).map(({ node }) => node),
  );
  if (stopped.size === 0) return undefined;
  const run = await playOnce({
    ...order,
    plannedMaintenances: order.plannedMaintenances.map(plannedMaintenance =>
      stopped.has(plannedMaintenance.node) ? widened(plannedMaintenance) : plannedMaintenance,
    ),
  });
  const ids = new Set(known.map(idOf));
  return blockersOf([run]).filter(one => stopped.has(one.node) && !ids.has(idOf(one)));
}
