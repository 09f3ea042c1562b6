import { matches } from '../../pod/selector.ts';
import { isControlPlane } from '../../quorum/quorum.ts';
import { latest, secondsAfter } from '../../time.ts';
import type { InFlight, NodeVerdict } from '../in-flight.ts';
import { type Plan, restStage, type Stage } from '../plan.ts';
import type { PlanNode } from '../snapshot.ts';
import { firstFirst, inPlanOrder } from './order.ts';

/** A stage with the nodes that it has taken, in the plan's order. */
export type StageNodes = {
  readonly stage: Stage;
  readonly nodes: readonly PlanNode[];
  /** Verdicts of this stage about nodes whose machines were replaced. */
  readonly past: readonly NodeVerdict[];
};

/** It has, or has had, nodes. */
export const isUsed = ({ nodes, past }: StageNodes): boolean => nodes.length + past.length > 0;

/** The control plane has a stage of its own where it comes first or last: one at a time. */
const controlPlaneStage: Stage = { name: 'control-plane', maxInFlight: 1, soakSeconds: 0, approveAfter: false };

/** All stages of a plan, the implied ones too. */
const allStages = ({ stages, controlPlane }: Pick<Plan, 'stages' | 'controlPlane'>): readonly Stage[] => [
  ...(controlPlane === 'First' ? [controlPlaneStage] : []),
  ...stages,
  restStage,
  ...(controlPlane === 'Last' ? [controlPlaneStage] : []),
];

type Taken = Pick<InFlight | NodeVerdict, 'node' | 'uid' | 'stage'>;

type FillingStage = {
  readonly stage: Stage;
  readonly nodes: PlanNode[];
  readonly past: readonly NodeVerdict[];
  /** Nodes of it that do not exist any more. */
  readonly others: number;
};

const takes = ({ stage, nodes, others }: FillingStage, { node }: PlanNode): boolean =>
  stage.name !== controlPlaneStage.name &&
  (stage.nodeSelector === undefined || matches(stage.nodeSelector, node.labels)) &&
  (stage.limit === undefined || nodes.length + others < stage.limit);

/**
 * Which node belongs to which stage: the one that it was begun or recorded in, however the order has changed since; else the first whose selector it matches and
 * that has room. Every node of the run has one: the last takes what is left.
 */
export const stagesOf = (
  plan: Plan,
  nodes: Iterable<PlanNode>,
  taken: readonly Taken[],
  past: readonly NodeVerdict[],
): readonly StageNodes[] => {
  const stages = allStages(plan);
  const owned = stages.some(({ name }) => name === controlPlaneStage.name);
  const before = new Map(taken.map(({ uid, stage }) => [uid, stage]));
  const sorted = inPlanOrder(nodes, plan);
  const here = new Set(sorted.map(({ node }) => node.uid));
  // The machine of one in flight may be gone already, and its node with it.
  const gone = [...past, ...plan.inFlight.filter(({ uid }) => !here.has(uid))];
  const rooms = stages.map(
    (stage): FillingStage => ({
      stage,
      nodes: [],
      past: past.filter(one => one.stage === stage.name),
      others: gone.filter(one => one.stage === stage.name).length,
    }),
  );
  const rest: PlanNode[] = [];
  for (const one of sorted) {
    const room = rooms.find(({ stage }) => stage.name === before.get(one.node.uid));
    if (room === undefined) rest.push(one);
    else room.nodes.push(one);
  }
  for (const one of rest) {
    const isOwned = owned && isControlPlane(one.node);
    const isOpenTo = (room: FillingStage): boolean => (isOwned ? room.stage.name === controlPlaneStage.name : takes(room, one));
    rooms.find(isOpenTo)?.nodes.push(one);
  }
  return rooms.map(({ stage, nodes: inside, past: replaced }) => ({
    stage,
    nodes: firstFirst(inPlanOrder(inside, plan), plan),
    past: replaced,
  }));
};

/** When the quiet time after a stage whose nodes all have their verdict is over; undefined where nothing was done in it. */
export const soakEnd = ({ stage, nodes, past }: StageNodes, verdicts: ReadonlyMap<string, NodeVerdict>): Temporal.Instant | undefined => {
  const last = latest([...nodes.flatMap(({ node }) => verdicts.get(node.uid) ?? []), ...past].map(({ completedAt }) => completedAt));
  return last && secondsAfter(last, stage.soakSeconds);
};
