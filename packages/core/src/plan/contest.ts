import { isBefore, joinLimited } from '@drydock/apimachinery';
import type { NodeVerdict } from './in-flight.ts';
import type { PlanNode, PlanSnapshot, RecordSlice } from './snapshot.ts';

/**
 * Plans that work against each other: nodes that one has done are due again when the other is done
 * with them. Each plan takes a node once a run; a user who runs them in turn has to be warned.
 */

/** Records of another plan. */
export type OtherRecords = { readonly name: string; readonly slices: readonly RecordSlice[] };

function doneOf(slices: readonly RecordSlice[]): readonly NodeVerdict[] {
  return slices.flatMap(({ verdicts }) => verdicts.filter(({ verdict }) => verdict === 'Done'));
}

/**
 * Returns, by uid of nodes that the run was done with and that are not done any more, the other
 * plan that was done with them last, after it.
 */
export function doneSince(
  slices: readonly RecordSlice[],
  nodes: PlanSnapshot['nodes'],
  others: readonly OtherRecords[],
): PlanSnapshot['doneSince'] {
  const isUndone = ({ node: name, uid }: NodeVerdict): boolean => {
    const one = nodes.get(name);
    return one?.node.uid === uid && one.done !== true;
  };
  const latest = new Map(
    doneOf(slices)
      .filter(isUndone)
      .map(({ uid, completedAt }) => [uid, completedAt]),
  );
  const found = new Map<string, string>();
  if (latest.size === 0) return found;
  for (const { name, slices: theirs } of others) {
    for (const { uid, completedAt } of doneOf(theirs)) {
      const before = latest.get(uid);
      if (before === undefined || isBefore(completedAt, before)) continue;
      latest.set(uid, completedAt);
      found.set(uid, name);
    }
  }
  return found;
}

/** Groups nodes that are due again by the other plan that was done with them since. */
function byPlan(
  dueAgain: readonly PlanNode[],
  { doneSince: since }: PlanSnapshot,
): readonly (readonly [string, readonly string[]])[] {
  const contested = dueAgain.flatMap(({ node }) => {
    const plan = since.get(node.uid);
    return plan === undefined ? [] : [{ plan, node: node.name }];
  });
  return [...Map.groupBy(contested, ({ plan }) => plan)].map(([plan, all]) => [
    plan,
    all.map(({ node }) => node),
  ]);
}

const maxPlans = 2;
const maxNodes = 3;

/**
 * Returns the plans that were done with the nodes since, for the message of the plan; empty if
 * there are none.
 */
export function contestants(dueAgain: readonly PlanNode[], snapshot: PlanSnapshot): string {
  const texts = byPlan(dueAgain, snapshot).map(
    ([plan, nodes]) => `plan ${plan} was done with ${nodes.length} of them since`,
  );
  return texts.length === 0 ? '' : ` (${joinLimited(texts, maxPlans)})`;
}

/** Returns the same with the names of the nodes, and a remedy; undefined if there are none. */
export function contestText(
  dueAgain: readonly PlanNode[],
  snapshot: PlanSnapshot,
): string | undefined {
  const texts = byPlan(dueAgain, snapshot).map(
    ([plan, nodes]) =>
      `${nodes.length} nodes that were done are due again, and plan ${plan} was done with them since (${joinLimited(nodes, maxNodes)})`,
  );
  if (texts.length === 0) return undefined;
  const way = `change one of them, or drydock plan skip ${snapshot.plan.name} leaves the nodes out`;
  return `${joinLimited(texts, maxPlans)}: if the plans have opposite aims, ${way}`;
}
