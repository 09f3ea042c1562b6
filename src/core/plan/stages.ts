import { matches } from '../pod/selector.ts';
import { isControlPlane } from '../quorum/quorum.ts';
import { secondsAfter } from '../time.ts';
import type { InFlight, NodeVerdict } from './in-flight.ts';
import { inPlanOrder } from './order.ts';
import { type Plan, restStage, type Stage } from './plan.ts';
import type { PlanNode } from './snapshot.ts';

/** A stage with the nodes that it has taken, in the plan's order. */
export type StageNodes = { readonly stage: Stage; readonly nodes: readonly PlanNode[] };

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

/**
 * Which node belongs to which stage: the one that it was begun or recorded in, however the order has changed since; else the first whose selector it matches and
 * that has room. Every node of the run has one: the last takes what is left.
 */
export const stagesOf = (plan: Plan, nodes: Iterable<PlanNode>, taken: readonly Taken[]): readonly StageNodes[] => {
  const stages = allStages(plan);
  const owned = stages.some(({ name }) => name === controlPlaneStage.name);
  const before = new Map(taken.map(({ uid, stage }) => [uid, stage]));
  const rooms = stages.map(stage => ({ stage, nodes: [] as PlanNode[] }));
  const sorted = inPlanOrder(nodes, plan);
  const rest: PlanNode[] = [];
  for (const one of sorted) {
    const room = rooms.find(({ stage }) => stage.name === before.get(one.node.uid));
    if (room === undefined) rest.push(one);
    else room.nodes.push(one);
  }
  for (const one of rest) {
    const isOwned = owned && isControlPlane(one.node);
    const room = rooms.find(({ stage, nodes: inside }) =>
      isOwned
        ? stage.name === controlPlaneStage.name
        : stage.name !== controlPlaneStage.name &&
          (stage.nodeSelector === undefined || matches(stage.nodeSelector, one.node.labels)) &&
          (stage.limit === undefined || inside.length < stage.limit),
    );
    room?.nodes.push(one);
  }
  return rooms.map(({ stage, nodes: inside }) => ({ stage, nodes: inPlanOrder(inside, plan) }));
};

/** When the quiet time after a stage is over. */
export const soakEnd = ({ soakSeconds }: Stage, doneAt: Temporal.Instant): Temporal.Instant => secondsAfter(doneAt, soakSeconds);
