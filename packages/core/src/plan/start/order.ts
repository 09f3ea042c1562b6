import type { Plan } from '../plan.ts';
import type { PlanNode } from '../snapshot.ts';

const zoneLabel = 'topology.kubernetes.io/zone';

function text(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

type Compare = (one: PlanNode, other: PlanNode) => number;

/**
 * Compares by the latest rehearsal; nodes that it does not list come after the others, all equal.
 */
function byCost({ forecast }: Pick<Plan, 'forecast'>): Compare {
  const first = forecast?.firstNodes ?? [];
  const places = new Map(first.map((name, place) => [name, place]));
  const placeOf = ({ node }: PlanNode): number => places.get(node.name) ?? first.length;
  return (one, other) => placeOf(one) - placeOf(other);
}

const compares: Readonly<Record<Exclude<Plan['order'][number], 'Cost'>, Compare>> = {
  Zone: (one, other) => text(one.node.labels[zoneLabel] ?? '', other.node.labels[zoneLabel] ?? ''),
  Age: (one, other) => Temporal.Instant.compare(one.createdAt, other.createdAt),
  Name: (one, other) => text(one.node.name, other.node.name),
};

function reversed(compare: Compare): Compare {
  return (one, other) => compare(other, one);
}

/**
 * Sorts the nodes in the order of a plan: by its expression, then by `order.by`, then by name, so
 * that the order is the same after every restart. A plan that is undone has the reverse order; the
 * order by cost stays, because a rehearsal has computed it for the undone plan.
 */
export function inPlanOrder(
  nodes: Iterable<PlanNode>,
  plan: Pick<Plan, 'order' | 'forecast' | 'undo'>,
): readonly PlanNode[] {
  const cost = byCost(plan);
  const way = plan.undo === true ? reversed : (compare: Compare): Compare => compare;
  const all: readonly Compare[] = [
    way((one, other) => one.rank - other.rank),
    ...plan.order.map(by => (by === 'Cost' ? cost : way(compares[by]))),
    way(compares.Name),
  ];
  return [...nodes].sort((one, other) => {
    for (const compare of all) {
      const answer = compare(one, other);
      if (answer !== 0) return answer;
    }
    return 0;
  });
}

/**
 * Puts the nodes of `order.first` first, in the order of that list; the others keep their order.
 */
export function pinnedFirst(
  nodes: readonly PlanNode[],
  { first }: Pick<Plan, 'first'>,
): readonly PlanNode[] {
  if (first.length === 0) return nodes;
  const places = new Map(first.map((name, place) => [name, place]));
  const placeOf = ({ node }: PlanNode): number => places.get(node.name) ?? first.length;
  return nodes.toSorted((one, other) => placeOf(one) - placeOf(other));
}
