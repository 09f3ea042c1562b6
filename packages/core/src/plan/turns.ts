import type { NodeVerdict } from './in-flight.ts';
import { hadBegun } from './records.ts';
import type { PlanNode, PlanSnapshot } from './snapshot.ts';

/**
 * Turns of nodes in a run. A name, the Node object of that name, and its machine are three things:
 * another object under the same name is another node.
 */

/** Turns that one name has in a run, of nodes that come back under it one after the other. */
const maxTurns = 2;

/** Turns that fail before any work, for example during the drain. */
const maxUnbegun = 2;

type Verdicts = ReadonlyMap<string, NodeVerdict>;

/** Counts these verdicts by name. */
function byName(
  verdicts: Verdicts,
  counts: (one: NodeVerdict) => boolean,
): ReadonlyMap<string, number> {
  const many = new Map<string, number>();
  for (const one of verdicts.values())
    if (counts(one)) many.set(one.node, (many.get(one.node) ?? 0) + 1);
  return many;
}

/**
 * Returns a function that reports whether a node has a turn in this run, or had one: it is due, and
 * the turns of its name are not used up. A plan that takes each node once a run takes each name
 * once, and a node that is repaired and breaks again is not taken for ever. While a plan is undone,
 * a node on which the work has failed has its turn too: how much of it there is to undo is unknown.
 */
export function turnsOf(
  { plan, unfinished }: PlanSnapshot,
  verdicts: Verdicts,
): (one: PlanNode) => boolean {
  const isFailure = ({ verdict }: NodeVerdict): boolean => verdict === 'Failed';
  const turns = byName(
    verdicts,
    one => one.verdict === 'Done' || (isFailure(one) && hadBegun(one)),
  );
  const unbegun = byName(verdicts, one => isFailure(one) && !hadBegun(one));
  const most =
    plan.expressions.due === undefined && plan.dueAfterSeconds === undefined ? 1 : maxTurns;
  const isDue = ({ node, due }: PlanNode): boolean =>
    due === true || (due === false && plan.undo === true && unfinished.has(node.uid));
  const hasLeft = (name: string): boolean =>
    (turns.get(name) ?? 0) < most && (unbegun.get(name) ?? 0) < maxUnbegun;
  return one => isDue(one) && (verdicts.has(one.node.uid) || hasLeft(one.node.name));
}
