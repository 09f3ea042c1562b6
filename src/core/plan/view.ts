import { isControlPlane } from '../quorum/quorum.ts';
import { mostUnavailable, resolveAmount } from './amount.ts';
import { type AskedGate, askGates, gateHaltOf } from './gates/ask-gates.ts';
import type { GateHalt } from './gates/gate.ts';
import { type InFlight, isRefused, mostHookRuns, mostSlots, type NodeVerdict } from './in-flight.ts';
import { unavailableOf } from './ledger.ts';
import type { Plan } from './plan.ts';
import { isRetried } from './retries.ts';
import type { PlanCounts, PlanNode, PlanSnapshot } from './snapshot.ts';
import { inOrder } from './start/ramp.ts';
import { type StageNodes, stagesOf } from './start/stages.ts';

/** What follows from a snapshot at once, computed once a pass. */
export type PlanView = {
  readonly snapshot: PlanSnapshot;
  /** What counts of this run, by the node's uid; failures that were set aside do not. */
  readonly verdicts: ReadonlyMap<string, NodeVerdict>;
  /** The selected nodes, without those of the control plane where it is left out. */
  readonly selected: ReadonlyMap<string, PlanNode>;
  /** Of these, by uid, those that are still to be begun with in this run. */
  readonly open: ReadonlyMap<string, PlanNode>;
  readonly stages: readonly StageNodes[];
  readonly failures: readonly NodeVerdict[];
  readonly counts: PlanCounts;
  readonly gates: readonly AskedGate[];
  readonly gateHalt?: GateHalt;
};

/** What the rest is found by. */
type Known = Pick<PlanView, 'selected' | 'verdicts'>;

/** It does not count any more: somebody has said that the node has its turn again. */
export const isSetAside = ({ node, verdict, completedAt }: NodeVerdict, plan: Pick<Plan, 'retries'>): boolean =>
  verdict === 'Failed' && isRetried(completedAt, plan, node);

const verdictsOf = ({ slices, plan }: PlanSnapshot): ReadonlyMap<string, NodeVerdict> =>
  new Map(
    inOrder(slices.flatMap(({ verdicts }) => verdicts))
      .filter(verdict => !isSetAside(verdict, plan))
      .map(verdict => [verdict.uid, verdict]),
  );

const isChosen = ({ selected, node }: PlanNode, { controlPlane }: Plan): boolean =>
  selected && (controlPlane !== 'Never' || !isControlPlane(node));

/**
 * Times are whole seconds. A node of the very second in which the run began may be the first successor, where machines are replaced: it is none of the run.
 */
const selectedOf = ({ nodes, plan }: PlanSnapshot): ReadonlyMap<string, PlanNode> => {
  const { membership, run } = plan;
  const since = membership === 'Snapshot' ? run?.startedAt : undefined;
  return new Map(
    [...nodes].filter(
      ([, one]) =>
        isChosen(one, plan) &&
        (since === undefined || Temporal.Instant.compare(one.createdAt, since) < (plan.work.kind === 'replace' ? 0 : 1)),
    ),
  );
};

/** It has a verdict that ends its part of the run. */
export const isOver = (verdict: NodeVerdict | undefined): boolean => verdict !== undefined && verdict.verdict !== 'Requeued';

const isCordoned = (name: string, outages: PlanSnapshot['outages']): boolean =>
  (outages.get(name) ?? []).some(({ cause }) => cause === 'ForeignCordon');

const openOf = ({ plan, outages }: PlanSnapshot, { selected, verdicts }: Known): PlanView['open'] => {
  const isOpen = ({ node, due }: PlanNode): boolean =>
    due === true &&
    !isOver(verdicts.get(node.uid)) &&
    !plan.skips.has(node.name) &&
    !plan.inFlight.some(({ uid }) => uid === node.uid) &&
    !(plan.concurrency.foreignCordon === 'Skip' && isCordoned(node.name, outages));
  return new Map([...selected.values()].filter(isOpen).map(one => [one.node.uid, one]));
};

/** It has nodes in flight, or still to be begun with. */
export const isUnderWay = ({ stage, nodes }: StageNodes, { snapshot, open }: PlanView): boolean => {
  const uids = new Set(nodes.map(({ node }) => node.uid));
  // The machine of one in flight may be gone already, and its node with it.
  return snapshot.plan.inFlight.some(one => one.stage === stage.name || uids.has(one.uid)) || nodes.some(({ node }) => open.has(node.uid));
};

/** It takes part in this run: due, begun or over. */
const takesPart = ({ node, due }: PlanNode, verdicts: ReadonlyMap<string, NodeVerdict>, inFlight: readonly InFlight[]): boolean =>
  due === true || verdicts.has(node.uid) || inFlight.some(({ uid }) => uid === node.uid);

/**
 * Of nodes whose machines were replaced: each has a successor, which has no part in the run, so that they still belong to it. Without them its first stage would never
 * end, and its percents would be of ever fewer nodes.
 */
const replacedOf = ({ plan }: PlanSnapshot, { selected, verdicts }: Known): readonly NodeVerdict[] => {
  if (plan.work.kind !== 'replace') return [];
  const uids = new Set([...selected.values()].map(({ node }) => node.uid));
  return [...verdicts.values()].filter(({ uid, verdict }) => verdict === 'Done' && !uids.has(uid));
};

/** What limits count: the nodes that the selector matches, also those that have no part in the run, such as the successors of replaced ones, and those in flight. */
const limitedNodes = ({ plan, nodes }: PlanSnapshot): ReadonlySet<string> =>
  new Set([...[...nodes].flatMap(([name, one]) => (isChosen(one, plan) ? [name] : [])), ...plan.inFlight.map(({ node }) => node)]);

/** Those of them that are out of service. One whose machine is being replaced is out until the other one is there. */
export const outOfService = (snapshot: PlanSnapshot): readonly string[] => unavailableOf(limitedNodes(snapshot), snapshot.outages);

/** Hooks of a node have entries of their own in the status, before and after it; as many again are left for those of stages and of the run. */
const mostInFlight = ({ hooks }: Plan): number => {
  const each = hooks.filter(({ at }) => at === 'BeforeNode' || at === 'AfterNode').length;
  return each === 0 ? mostSlots : Math.min(mostSlots, Math.floor(mostHookRuns / 2 / each));
};

const countsOf = (snapshot: PlanSnapshot, { selected, verdicts }: Known, replaced: number): PlanCounts => {
  const { plan } = snapshot;
  const all = [...selected.values()];
  const words = [...verdicts.values()].map(({ verdict }) => verdict);
  const many = (word: NodeVerdict['verdict']): number => words.filter(one => one === word).length;
  const open = all.filter(({ node }) => !isOver(verdicts.get(node.uid)) && !plan.skips.has(node.name));
  const begun = new Set(plan.inFlight.map(({ uid }) => uid));
  const limited = limitedNodes(snapshot);
  const most = mostUnavailable(plan.concurrency, limited.size);
  return {
    selected: selected.size + replaced,
    due: open.filter(({ node, due }) => due === true && !begun.has(node.uid)).length,
    blocked: open.filter(({ due }) => typeof due !== 'boolean').length + plan.preparing.filter(isRefused).length,
    done: many('Done'),
    failed: many('Failed'),
    skipped: many('Skipped') + all.filter(({ node }) => plan.skips.has(node.name) && !verdicts.has(node.uid)).length,
    maxInFlight: Math.min(resolveAmount(plan.concurrency.maxInFlight, limited.size) ?? 0, mostInFlight(plan)),
    ...(most !== undefined && { maxUnavailable: most }),
    unavailable: unavailableOf(limited, snapshot.outages).length,
  };
};

export const viewOf = (snapshot: PlanSnapshot, now: Temporal.Instant): PlanView => {
  const { plan } = snapshot;
  const known: Known = { verdicts: verdictsOf(snapshot), selected: selectedOf(snapshot) };
  const { verdicts, selected } = known;
  const replaced = replacedOf(snapshot, known);
  const gates = askGates(snapshot, now);
  const gateHalt = gateHaltOf(snapshot, gates, verdicts, now);
  const members = [...selected.values()].filter(one => takesPart(one, verdicts, plan.inFlight));
  return {
    snapshot,
    ...known,
    open: openOf(snapshot, known),
    stages: stagesOf(plan, members, [...verdicts.values(), ...plan.inFlight], replaced),
    failures: inOrder([...verdicts.values()]).filter(({ verdict }) => verdict === 'Failed'),
    counts: countsOf(snapshot, known, replaced.length),
    gates,
    ...(gateHalt && { gateHalt }),
  };
};
