import { latest, matches } from '@drydock/apimachinery';
import { isControlPlane } from '../../quorum/quorum.ts';
import type { NodeVerdict } from '../in-flight.ts';
import { type Plan, restStage, type Stage } from '../plan.ts';
import type { PlanNode } from '../snapshot.ts';
import { inPlanOrder, pinnedFirst } from './order.ts';

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
