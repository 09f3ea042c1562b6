import { matches } from '../../pod/selector.ts';
import { isControlPlane } from '../../quorum/quorum.ts';
import { latest } from '../../time.ts';
import type { NodeVerdict } from '../in-flight.ts';
import { type Plan, restStage, type Stage } from '../plan.ts';
import type { PlanNode } from '../snapshot.ts';
import { inPlanOrder, pinnedFirst } from './order.ts';

/** A stage with the nodes that it has taken, in the plan's order. */
export type StageNodes = {
  readonly stage: Stage;
  readonly nodes: readonly PlanNode[];
  /** Its verdicts about nodes that take no part any more: deleted, replaced, come back as others, not selected. They count like those of the others. */
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

type Verdicts = ReadonlyMap<string, NodeVerdict>;

type FillingStage = { readonly stage: Stage; readonly nodes: PlanNode[]; readonly past: readonly NodeVerdict[]; taken: number };

/** A turn that came to nothing, and a node that is left out, take no place of a limit. */
const fillsPlace = ({ node }: PlanNode, verdicts: Verdicts): boolean => {
  const verdict = verdicts.get(node.uid)?.verdict;
  return verdict !== 'Skipped' && verdict !== 'Gone';
};

const takes = ({ stage, taken }: FillingStage, { node }: PlanNode, { skips }: Plan): boolean =>
  stage.name !== controlPlaneStage.name &&
  (stage.nodeSelector === undefined || matches(stage.nodeSelector, node.labels)) &&
  (stage.limit === undefined || (taken < stage.limit && !skips.has(node.name)));

/** Of nodes that are gone, the machines that the plan has replaced stay in their stage: it does not take others for them. */
const placesOf = (past: readonly NodeVerdict[], { work }: Plan): readonly NodeVerdict[] =>
  work.kind === 'replace' ? past.filter(({ verdict }) => verdict === 'Done') : [];

/**
 * Which node belongs to which stage: the one that it was begun or recorded in, however the order has changed since; else the first whose selector it matches and
 * that has room. Every node of the run has one: the last takes what is left.
 */
export const stagesOf = (
  plan: Plan,
  nodes: Iterable<PlanNode>,
  verdicts: Verdicts,
  past: readonly NodeVerdict[],
): readonly StageNodes[] => {
  const stages = allStages(plan);
  const owned = stages.some(({ name }) => name === controlPlaneStage.name);
  const before = new Map([...verdicts.values(), ...plan.inFlight].map(({ uid, stage }) => [uid, stage]));
  const sorted = inPlanOrder(nodes, plan);
  const here = new Set(sorted.map(({ node }) => node.uid));
  // The machine of one in flight may be gone already, and its node with it.
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
    const isOpenTo = (room: FillingStage): boolean => (isOwned ? room.stage.name === controlPlaneStage.name : takes(room, one, plan));
    put(rooms.find(isOpenTo), one);
  }
  return rooms.map(room => ({ stage: room.stage, nodes: pinnedFirst(inPlanOrder(room.nodes, plan), plan), past: room.past }));
};

/** The verdicts of this run that were given in the stage, whatever became of their nodes. */
export const verdictsIn = ({ nodes, past }: StageNodes, verdicts: Verdicts): readonly NodeVerdict[] => [
  ...nodes.flatMap(({ node }) => verdicts.get(node.uid) ?? []),
  ...past,
];

/** What was done and proven in it in this run: what its approval, or its soak time, is about. */
export const doneIn = (stage: StageNodes, verdicts: Verdicts): readonly NodeVerdict[] =>
  verdictsIn(stage, verdicts).filter(({ verdict }) => verdict === 'Done');

/** When the last of its nodes had its verdict; undefined where none has. */
export const lastVerdictAt = (stage: StageNodes, verdicts: Verdicts): Temporal.Instant | undefined =>
  latest(verdictsIn(stage, verdicts).map(({ completedAt }) => completedAt));
