import { part, text } from '../../embedded/object.ts';
import type { Order, PlannedMaintenance, SimulatedRun } from '../simulate/run.ts';
import { blockersOf, type ForecastBlocker } from './forecast.ts';

/** Pods that the policy does not let go, for which the operator leaves all others of their node alone. */
const refusals = new Set(['LocalData', 'Unmanaged']);

const idOf = ({ node, cause, what = '' }: ForecastBlocker): string => `${node} ${cause} ${what}`;

/** The same maintenance with a policy that refuses none of them. The kinds of other operators never do. */
const widened = (plannedMaintenance: PlannedMaintenance): PlannedMaintenance => {
  const { object } = plannedMaintenance;
  if (!text(object, 'apiVersion').startsWith('drydock.dev/')) return plannedMaintenance;
  const drain = { ...part(object, 'spec', 'drain'), force: true, deleteEmptyDirData: true };
  return { ...plannedMaintenance, object: { ...object, spec: { ...part(object, 'spec'), drain } } };
};

/**
 * What else is in the way on nodes where the policy refuses pods, by one more run in which it does not; undefined where it refuses none. A node
 * on which a pod is refused shows nothing of what comes after.
 */
export const hiddenBlockers = async (
  runs: readonly SimulatedRun[],
  order: Order,
  playOnce: (wider: Order) => Promise<SimulatedRun>,
): Promise<readonly ForecastBlocker[] | undefined> => {
  const known = blockersOf(runs);
  const stopped = new Set(known.filter(({ cause }) => refusals.has(cause)).map(({ node }) => node));
  if (stopped.size === 0) return undefined;
  const run = await playOnce({
    ...order,
    plannedMaintenances: order.plannedMaintenances.map(plannedMaintenance =>
      stopped.has(plannedMaintenance.node) ? widened(plannedMaintenance) : plannedMaintenance,
    ),
  });
  const ids = new Set(known.map(idOf));
  return blockersOf([run]).filter(one => stopped.has(one.node) && !ids.has(idOf(one)));
};
