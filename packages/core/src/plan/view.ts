import { resolveAmount, unavailableLimit } from '@drydock/apimachinery';
import { isControlPlane } from '../quorum/quorum.ts';
import { hadBegun, isRetried } from './contest.ts';
import { type AskedGate, evaluateGates, gateHaltOf } from './gates/evaluate-gates.ts';
import type { GateHalt } from './gates/gate.ts';
import { type InFlight, isRefused, maxHookRuns, maxSlots, type NodeVerdict } from './in-flight.ts';
import type { Plan } from './plan.ts';
import type { PlanCounts, PlanNode, PlanSnapshot, SoakWatch } from './snapshot.ts';
import { inOrder, type StageNodes, stagesOf } from './start/stages.ts';
import { unavailableOf } from './unavailability.ts';

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
function turnsOf(
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

/** A view that is derived from a snapshot, computed once a pass. */
export type PlanView = {
  readonly snapshot: PlanSnapshot;
  /** Verdicts of this run that count, by the node's uid; failures that were set aside do not. */
  readonly verdicts: ReadonlyMap<string, NodeVerdict>;
  /** Selected nodes, without those of the control plane if it is left out. */
  readonly selected: ReadonlyMap<string, PlanNode>;
  /** Selected nodes that are still to begin in this run, by uid. */
  readonly open: ReadonlyMap<string, PlanNode>;
  readonly stages: readonly StageNodes[];
  /** Names of the stages that have nodes in flight, or nodes that are still to begin. */
  readonly underWay: ReadonlySet<string>;
  readonly failures: readonly NodeVerdict[];
  readonly counts: PlanCounts;
  /** Nodes that this run is over with, and that are due. */
  readonly dueAgain: readonly PlanNode[];
  readonly gates: readonly AskedGate[];
  readonly gateHalt?: GateHalt;
  /** Observation of the stage that soaks. Missing: none does. */
  readonly soak?: SoakWatch;
};

/** Inputs of the other fields. */
type Known = Pick<PlanView, 'selected' | 'verdicts'> & {
  readonly hasTurn: ReturnType<typeof turnsOf>;
};

/** Reports whether the failure does not count any more, because a user has retried the node. */
export function isSetAside(
  { node, verdict, completedAt }: NodeVerdict,
  plan: Pick<Plan, 'retries'>,
): boolean {
  return verdict === 'Failed' && isRetried(completedAt, plan, node);
}

function verdictsOf({ slices, plan }: PlanSnapshot): ReadonlyMap<string, NodeVerdict> {
  return new Map(
    inOrder(slices.flatMap(({ verdicts }) => verdicts))
      .filter(verdict => !isSetAside(verdict, plan))
      .map(verdict => [verdict.uid, verdict]),
  );
}

function isChosen({ selected, node }: PlanNode, { controlPlane }: Plan): boolean {
  return selected && (controlPlane !== 'Never' || !isControlPlane(node));
}

/**
 * Returns the selected nodes. Times are whole seconds. A node from the same second in which the run
 * began may be the first successor, if machines are replaced: it is not part of the run.
 */
function selectedOf({ nodes, plan }: PlanSnapshot): ReadonlyMap<string, PlanNode> {
  const { membership, run } = plan;
  const since = membership === 'Snapshot' ? run?.startedAt : undefined;
  return new Map(
    [...nodes].filter(
      ([, one]) =>
        isChosen(one, plan) &&
        (since === undefined ||
          Temporal.Instant.compare(one.createdAt, since) < (plan.work.kind === 'replace' ? 0 : 1)),
    ),
  );
}

/** Reports whether the verdict ends the node's part of the run. */
export function isOver(verdict: NodeVerdict | undefined): boolean {
  return verdict !== undefined && verdict.verdict !== 'Requeued';
}

function isCordoned(name: string, outages: PlanSnapshot['outages']): boolean {
  return (outages.get(name) ?? []).some(({ reason }) => reason === 'ForeignCordon');
}

/**
 * Reports whether a user has skipped the node, or the plan skips nodes that others have cordoned.
 */
function isLeftOut({ node }: PlanNode, { plan, outages }: PlanSnapshot): boolean {
  return (
    plan.skips.has(node.name) ||
    (plan.concurrency.foreignCordon === 'Skip' && isCordoned(node.name, outages))
  );
}

function openOf(snapshot: PlanSnapshot, known: Known): PlanView['open'] {
  const { selected, verdicts, hasTurn } = known;
  const { plan } = snapshot;
  const isOpen = (one: PlanNode): boolean =>
    hasTurn(one) &&
    !isOver(verdicts.get(one.node.uid)) &&
    !isLeftOut(one, snapshot) &&
    !plan.inFlight.some(({ node }) => node === one.node.name);
  return new Map([...selected.values()].filter(isOpen).map(one => [one.node.uid, one]));
}

function underWayAmong(
  stages: readonly StageNodes[],
  open: PlanView['open'],
  inFlight: readonly InFlight[],
): ReadonlySet<string> {
  const flying = new Set(inFlight.map(({ uid }) => uid));
  // The machine of a node in flight may be gone already, and its node with it.
  const found = new Set(inFlight.map(({ stage }) => stage));
  for (const { stage, nodes } of stages)
    if (nodes.some(({ node }) => flying.has(node.uid) || open.has(node.uid))) found.add(stage.name);
  return found;
}

/** Reports whether the node takes part in this run: due, begun or over. */
function takesPart(
  one: PlanNode,
  { verdicts, hasTurn }: Known,
  inFlight: readonly InFlight[],
): boolean {
  return (
    hasTurn(one) || verdicts.has(one.node.uid) || inFlight.some(({ uid }) => uid === one.node.uid)
  );
}

/**
 * Returns verdicts about nodes that take no part any more: deleted, replaced, registered again as
 * others, not selected. Such a node belongs to its stage and to its run all the same: otherwise a
 * stage would be forgotten together with its last node, and percentages would be of ever fewer
 * nodes.
 */
function pastOf({ verdicts }: Known, members: readonly PlanNode[]): readonly NodeVerdict[] {
  const uids = new Set(members.map(({ node }) => node.uid));
  return [...verdicts.values()].filter(
    ({ uid, verdict }) => (verdict === 'Done' || verdict === 'Failed') && !uids.has(uid),
  );
}

/**
 * Returns the nodes that limits count: those that the selector matches, including those without a
 * part in the run, such as the successors of replaced ones, and those in flight.
 */
function limitedNodes({ plan, nodes }: PlanSnapshot): ReadonlySet<string> {
  return new Set([
    ...[...nodes].flatMap(([name, one]) => (isChosen(one, plan) ? [name] : [])),
    ...plan.inFlight.map(({ node }) => node),
  ]);
}

/**
 * Returns those of them that are out of service. A node whose machine is being replaced is out
 * until the other one exists.
 */
export function outOfService(snapshot: PlanSnapshot): readonly string[] {
  return unavailableOf(limitedNodes(snapshot), snapshot.outages);
}

/**
 * Returns the limit of nodes in flight. Hooks of a node have entries of their own in the status,
 * before and after it; as many again are reserved for those of stages and of the run.
 */
function inFlightLimit({ hooks }: Plan): number {
  const each = hooks.filter(({ at }) => at === 'BeforeNode' || at === 'AfterNode').length;
  return each === 0 ? maxSlots : Math.min(maxSlots, Math.floor(maxHookRuns / 2 / each));
}

/** Counts the different names. */
function names(...lists: readonly (readonly string[])[]): number {
  return new Set(lists.flat()).size;
}

function dueAgainOf(
  snapshot: PlanSnapshot,
  { selected, verdicts, hasTurn }: Known,
): readonly PlanNode[] {
  const flying = new Set(snapshot.plan.inFlight.map(({ node }) => node));
  const isDueAgain = (one: PlanNode): boolean => {
    const verdict = verdicts.get(one.node.uid)?.verdict;
    const isPast = verdict === 'Done' || (verdict === undefined && !hasTurn(one));
    return (
      isPast &&
      one.due === true &&
      one.done !== true &&
      !isLeftOut(one, snapshot) &&
      !flying.has(one.node.name)
    );
  };
  return [...selected.values()].filter(isDueAgain);
}

function countsOf(
  snapshot: PlanSnapshot,
  known: Known,
  past: readonly NodeVerdict[],
  dueAgain: number,
): PlanCounts {
  const { plan } = snapshot;
  const { selected, verdicts, hasTurn } = known;
  const all = [...selected.values()];
  const words = [...verdicts.values()];
  const done = words.flatMap(({ node, verdict }) => (verdict === 'Done' ? node : []));
  const isUndecided = ({ node }: PlanNode): boolean => !isOver(verdicts.get(node.uid));
  const open = all.filter(one => isUndecided(one) && !isLeftOut(one, snapshot));
  const flying = new Set(plan.inFlight.map(({ node }) => node));
  const limited = limitedNodes(snapshot);
  const most = unavailableLimit(plan.concurrency, limited.size);
  return {
    selected: names(
      [...selected.keys()],
      past.map(({ node }) => node),
    ),
    due: open.filter(one => hasTurn(one) && !flying.has(one.node.name)).length,
    dueAgain,
    blocked:
      open.filter(({ due }) => typeof due !== 'boolean').length +
      plan.preparing.filter(isRefused).length,
    done: names(done),
    failed: words.filter(({ verdict }) => verdict === 'Failed').length,
    skipped:
      words.filter(({ verdict }) => verdict === 'Skipped').length +
      all.filter(one => isUndecided(one) && isLeftOut(one, snapshot)).length,
    maxInFlight: Math.min(
      resolveAmount(plan.concurrency.maxInFlight, limited.size) ?? 0,
      inFlightLimit(plan),
    ),
    ...(most !== undefined && { maxUnavailable: most }),
    unavailable: unavailableOf(limited, snapshot.outages).length,
  };
}

export function viewOf(snapshot: PlanSnapshot, now: Temporal.Instant): PlanView {
  const { plan } = snapshot;
  const verdicts = verdictsOf(snapshot);
  const known: Known = {
    verdicts,
    selected: selectedOf(snapshot),
    hasTurn: turnsOf(snapshot, verdicts),
  };
  const gates = evaluateGates(snapshot, now);
  const gateHalt = gateHaltOf(snapshot, gates, verdicts, now);
  const members = [...known.selected.values()].filter(one => takesPart(one, known, plan.inFlight));
  const past = pastOf(known, members);
  const dueAgain = dueAgainOf(snapshot, known);
  const open = openOf(snapshot, known);
  const stages = stagesOf(plan, members, verdicts, past);
  return {
    snapshot,
    verdicts,
    selected: known.selected,
    open,
    stages,
    underWay: underWayAmong(stages, open, plan.inFlight),
    failures: inOrder([...verdicts.values()]).filter(({ verdict }) => verdict === 'Failed'),
    counts: countsOf(snapshot, known, past, dueAgain.length),
    dueAgain,
    gates,
    ...(gateHalt && { gateHalt }),
  };
}
