import { latest, matches } from '@drydock/apimachinery';
import { isControlPlane } from '../../quorum/quorum.ts';
import type { NodeVerdict } from '../in-flight.ts';
import { type Plan, restStage, type Stage } from '../plan.ts';
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
      const order = compare(one, other);
      if (order !== 0) return order;
    }
    return 0;
  });
}

/**
 * Puts the nodes of `order.first` first, in the order of that list; the others keep their order.
 */
function pinnedFirst(
  nodes: readonly PlanNode[],
  { first }: Pick<Plan, 'first'>,
): readonly PlanNode[] {
  if (first.length === 0) return nodes;
  const places = new Map(first.map((name, place) => [name, place]));
  const placeOf = ({ node }: PlanNode): number => places.get(node.name) ?? first.length;
  return nodes.toSorted((one, other) => placeOf(one) - placeOf(other));
}

/** A stage with the nodes that it has taken, in the plan's order. */
export type StageNodes = {
  readonly stage: Stage;
  readonly nodes: readonly PlanNode[];
  /**
   * Verdicts of the stage about nodes that take no part any more: deleted, replaced, registered
   * again as others, not selected. They count like the others.
   */
  readonly past: readonly NodeVerdict[];
};

/** Reports whether the stage has, or has had, nodes. */
export function isUsed({ nodes, past }: StageNodes): boolean {
  return nodes.length + past.length > 0;
}

/** Stage of the control plane, if it comes first or last: one node at a time. */
const controlPlaneStage: Stage = {
  name: 'control-plane',
  maxInFlight: 1,
  soakSeconds: 0,
  approveAfter: false,
};

/** Returns all stages of a plan, including the implied ones. */
function allStages({
  stages,
  controlPlane,
}: Pick<Plan, 'stages' | 'controlPlane'>): readonly Stage[] {
  return [
    ...(controlPlane === 'First' ? [controlPlaneStage] : []),
    ...stages,
    restStage,
    ...(controlPlane === 'Last' ? [controlPlaneStage] : []),
  ];
}

type Verdicts = ReadonlyMap<string, NodeVerdict>;

type FillingStage = {
  readonly stage: Stage;
  readonly nodes: PlanNode[];
  readonly past: readonly NodeVerdict[];
  taken: number;
};

/**
 * Reports whether the node counts against the limit of its stage: a turn without a result, and a
 * node that is left out, do not.
 */
function fillsPlace({ node }: PlanNode, verdicts: Verdicts): boolean {
  const verdict = verdicts.get(node.uid)?.verdict;
  return verdict !== 'Skipped' && verdict !== 'Gone';
}

function takes({ stage, taken }: FillingStage, { node }: PlanNode, { skips }: Plan): boolean {
  return (
    stage.name !== controlPlaneStage.name &&
    (stage.nodeSelector === undefined || matches(stage.nodeSelector, node.labels)) &&
    (stage.limit === undefined || (taken < stage.limit && !skips.has(node.name)))
  );
}

/**
 * Returns the verdicts of nodes that are gone and still count in their stage: machines that the
 * plan has replaced do, so that the stage does not take other nodes for them.
 */
function placesOf(past: readonly NodeVerdict[], { work }: Plan): readonly NodeVerdict[] {
  return work.kind === 'replace' ? past.filter(({ verdict }) => verdict === 'Done') : [];
}

/**
 * Assigns the nodes to stages: to the one that a node was begun or recorded in, even if the order
 * has changed since; otherwise to the first one whose selector matches and that has room. Every
 * node of the run has a stage: the last one takes the rest.
 */
export function stagesOf(
  plan: Plan,
  nodes: Iterable<PlanNode>,
  verdicts: Verdicts,
  past: readonly NodeVerdict[],
): readonly StageNodes[] {
  const stages = allStages(plan);
  const owned = stages.some(({ name }) => name === controlPlaneStage.name);
  const before = new Map(
    [...verdicts.values(), ...plan.inFlight].map(({ uid, stage }) => [uid, stage]),
  );
  const sorted = inPlanOrder(nodes, plan);
  const here = new Set(sorted.map(({ node }) => node.uid));
  // The machine of a node in flight may be gone already, and its node with it.
  const gone = [...placesOf(past, plan), ...plan.inFlight.filter(({ uid }) => !here.has(uid))];
  const rooms = stages.map(
    (stage): FillingStage => ({
      stage,
      nodes: [],
      past: past.filter(one => one.stage === stage.name),
      taken: gone.filter(one => one.stage === stage.name).length,
    }),
  );
  const put = (room: FillingStage | undefined, one: PlanNode): void => {
    room?.nodes.push(one);
    if (room !== undefined && fillsPlace(one, verdicts)) room.taken += 1;
  };
  const rest: PlanNode[] = [];
  for (const one of sorted) {
    const room = rooms.find(({ stage }) => stage.name === before.get(one.node.uid));
    if (room === undefined) rest.push(one);
    else put(room, one);
  }
  for (const one of rest) {
    const isOwned = owned && isControlPlane(one.node);
    const isOpenTo = (room: FillingStage): boolean =>
      isOwned ? room.stage.name === controlPlaneStage.name : takes(room, one, plan);
    put(rooms.find(isOpenTo), one);
  }
  return rooms.map(room => ({
    stage: room.stage,
    nodes: pinnedFirst(inPlanOrder(room.nodes, plan), plan),
    past: room.past,
  }));
}

/**
 * Returns the verdicts of this run that were given in the stage, regardless of the present state of
 * their nodes.
 */
export function verdictsIn(
  { nodes, past }: StageNodes,
  verdicts: Verdicts,
): readonly NodeVerdict[] {
  return [...nodes.flatMap(({ node }) => verdicts.get(node.uid) ?? []), ...past];
}

/**
 * Returns the nodes that were done and proven in it in this run: its approval, or its soak time, is
 * about these.
 */
export function doneIn(stage: StageNodes, verdicts: Verdicts): readonly NodeVerdict[] {
  return verdictsIn(stage, verdicts).filter(({ verdict }) => verdict === 'Done');
}

/** Returns when the last of its nodes had its verdict; undefined if none has. */
export function lastVerdictAt(stage: StageNodes, verdicts: Verdicts): Temporal.Instant | undefined {
  return latest(verdictsIn(stage, verdicts).map(({ completedAt }) => completedAt));
}

/**
 * Returns how many nodes may be in flight at once so far: `start` at first; after as many successes
 * as are allowed at once, `factor` times as many; after a failure `start` again. Computed again
 * from the verdicts each time, oldest first.
 */
export function rampOf(
  { start, factor }: { readonly start: number; readonly factor: number },
  verdicts: readonly NodeVerdict[],
): number {
  let [atOnce, successes] = [start, 0];
  for (const { verdict } of inOrder(verdicts)) {
    if (verdict === 'Failed') [atOnce, successes] = [start, 0];
    if (verdict !== 'Done') continue;
    successes += 1;
    if (successes >= atOnce) [atOnce, successes] = [Math.min(atOnce * factor, 1_000_000), 0];
  }
  return atOnce;
}

/** Sorts by time; the name decides between verdicts of the same second. */
export function inOrder(verdicts: readonly NodeVerdict[]): readonly NodeVerdict[] {
  return verdicts.toSorted(
    (one, other) =>
      Temporal.Instant.compare(one.completedAt, other.completedAt) ||
      (one.node < other.node ? -1 : 1),
  );
}
