import type { NodeVerdict } from './in-flight.ts';
import { hadBegun } from './records.ts';
import type { PlanNode, PlanSnapshot } from './snapshot.ts';

/** Who has a turn in a run. A name, the Node object of that name, and its machine are three things: another object under the same name is another node. */

/** Turns that one name has in a run, of nodes that come back under it one after the other. */
const maxTurns = 2;

/** And those that fail before anything was done in them, as while it is drained. */
const maxUnbegun = 2;

type Verdicts = ReadonlyMap<string, NodeVerdict>;

/** By name: so many of these verdicts. */
const byName = (verdicts: Verdicts, counts: (one: NodeVerdict) => boolean): ReadonlyMap<string, number> => {
  const many = new Map<string, number>();
  for (const one of verdicts.values()) if (counts(one)) many.set(one.node, (many.get(one.node) ?? 0) + 1);
  return many;
};

/**
 * Whether a node has a turn in this run, or had one. It is due, and the turns of its name are not used up: a plan that takes each node once a run takes each name
 * once, and what somebody repairs only to have it broken again is not broken for ever. While a plan is undone, a node on which the work has failed has its turn too: how much
 * of it there is to undo, nobody knows.
 */
export const turnsOf = ({ plan, unfinished }: PlanSnapshot, verdicts: Verdicts): ((one: PlanNode) => boolean) => {
  const isFailure = ({ verdict }: NodeVerdict): boolean => verdict === 'Failed';
  const turns = byName(verdicts, one => one.verdict === 'Done' || (isFailure(one) && hadBegun(one)));
  const unbegun = byName(verdicts, one => isFailure(one) && !hadBegun(one));
  const most = plan.expressions.due === undefined && plan.dueAfterSeconds === undefined ? 1 : maxTurns;
  const isDue = ({ node, due }: PlanNode): boolean => due === true || (due === false && plan.undo === true && unfinished.has(node.uid));
  const hasLeft = (name: string): boolean => (turns.get(name) ?? 0) < most && (unbegun.get(name) ?? 0) < maxUnbegun;
  return one => isDue(one) && (verdicts.has(one.node.uid) || hasLeft(one.node.name));
};
