import { earliest, timeText } from '@drydock/apimachinery';
import { gateBeforeNode } from '../gates/evaluate-gates.ts';
import { type InFlight, maxProviderIdLength } from '../in-flight.ts';
import { begunWork, maxUpNext, type Plan, type StarvedNode } from '../plan.ts';
import { unprepared } from '../pods/prepare.ts';
import { type HookStep, runHooks, runScope, stageScope } from '../pods/run-hooks.ts';
import { awaitRehearsal } from '../rehearsal/run-rehearsal.ts';
import type { PlanNode, WaitReason } from '../snapshot.ts';
import type { PlanView } from '../view.ts';
import { timeLimits } from './forecast.ts';
import { domainLimit, inFlightLimit, outageLimits } from './limits.ts';
import {
  type ApprovalState,
  approvalOf,
  notReady,
  ownReason,
  passedOverOf,
  promotionOf,
  reserved,
  starvedOf,
} from './node-reasons.ts';
import { shownBy } from './soak.ts';
import { doneIn, isUsed, type StageNodes, verdictsIn } from './stages.ts';

/**
 * Decision on which node begins now: at most one, and the first reason of each kind for the others.
 */
export type StartDecision = {
  readonly slot?: InFlight;
  readonly waiting: readonly WaitReason[];
  /** Name of the active stage. */
  readonly stage?: string;
  /** True if all stages are over. */
  readonly over?: true;
  readonly requeueAt?: Temporal.Instant;
  /** Steps of the hooks to store and carry out. */
  readonly hooks?: readonly HookStep[];
  /**
   * Nodes of the stage to prepare: those that have not begun and could be worked on, in their
   * order.
   */
  readonly candidates?: readonly PlanNode[];
  /** Names of the next nodes of the stage, in their order, up to a limit. */
  readonly upNext?: readonly string[];
  /** Nodes that wait behind limits while others begin; missing: none. */
  readonly passedOver?: Plan['passedOver'];
};

/**
 * Keeps the node of the operator itself for last in its stage: after all nodes that can begin
 * without help sooner or later, but not after a node that is down for weeks.
 */
function ownNode(
  { node }: PlanNode,
  { snapshot }: PlanView,
  isLast: boolean,
): WaitReason | undefined {
  return snapshot.ownNode !== node.name || (isLast && snapshot.plan.inFlight.length === 0)
    ? undefined
    : { reason: 'OwnNode', message: 'the operator runs on it: it goes last', node: node.name };
}

/** Reasons of nodes that wait for others than the plan, possibly for ever. */
const mayLast = new Set(['NotReady', 'NoMachine', 'HeldBy', 'Blocked']);

/**
 * Returns the candidates: first those that a user has moved to the front; then those that are out
 * already because of another plan: they share its drain and cost no limit; then those that have
 * been passed over for too long; last those that were released before.
 */
function candidatesOf(
  stage: StageNodes,
  view: PlanView,
  starved: ReadonlyMap<string, StarvedNode>,
): readonly PlanNode[] {
  const { outages, plan } = view.snapshot;
  const first = new Set(plan.first);
  const rank = ({ node }: PlanNode): number => {
    if (first.has(node.name)) return 0;
    if (outages.has(node.name)) return 1;
    if (starved.has(node.uid)) return 2;
    return view.verdicts.has(node.uid) ? 4 : 3;
  };
  const since = ({ node }: PlanNode): number => starved.get(node.uid)?.since.epochMilliseconds ?? 0;
  return stage.nodes
    .filter(({ node }) => view.open.has(node.uid))
    .toSorted((one, other) => rank(one) - rank(other) || since(one) - since(other));
}

/**
 * Number of reasons that are kept; one of each kind is enough: `drydock why` shows those of a
 * single node.
 */
const maxWaiting = 20;

/** Returns the labels of the node that a limit uses. */
function domainsOf({ concurrency }: Plan, { labels }: PlanNode['node']): Pick<InFlight, 'domains'> {
  const found = concurrency.perTopology.flatMap(({ key }) =>
    labels[key] === undefined ? [] : [[key, labels[key]] as const],
  );
  return found.length === 0 ? {} : { domains: Object.fromEntries(found) };
}

function begun(
  { plan }: PlanView['snapshot'],
  { node }: PlanNode,
  stage: string,
  now: Temporal.Instant,
): InFlight {
  return {
    node: node.name,
    uid: node.uid,
    stage,
    revision: plan.run?.revision ?? plan.revision,
    work: begunWork(plan.work),
    ...domainsOf(plan, node),
    ...(node.providerId !== undefined &&
      node.providerId.length <= maxProviderIdLength && { providerId: node.providerId }),
    state: 'Starting',
    startedAt: now,
    since: now,
    attempt: 0,
  };
}

/** Reasons why a node may not begin now. */
type Reasons = {
  /** Reason of the node itself. */
  readonly own?: WaitReason | undefined;
  /** Limit that other nodes have used up. */
  readonly limit?: WaitReason | undefined;
  readonly time?: () => WaitReason | undefined;
};

function reasons(
  view: PlanView,
  now: Temporal.Instant,
  candidates: readonly PlanNode[],
): (one: PlanNode) => Reasons {
  const [outage, domain, time] = [outageLimits(view), domainLimit(view), timeLimits(view, now)];
  const ofNode = (one: PlanNode): WaitReason | undefined => ownReason(one, view);
  const others = candidates.filter(({ node }) => node.name !== view.snapshot.ownNode);
  const isLast =
    others.length < candidates.length &&
    others.every(one => mayLast.has((ofNode(one) ?? unprepared(one, view))?.reason ?? ''));
  return one => {
    const own = ofNode(one) ?? ownNode(one, view, isLast) ?? unprepared(one, view);
    return own
      ? { own }
      : { limit: domain(one.node) ?? outage(one.node), time: () => time(one.node) };
  };
}

type Starved = ReadonlyMap<string, StarvedNode>;

/** Reasons of the candidates, and the first candidate without one. */
type CandidateSearch = {
  readonly one?: PlanNode;
  readonly waiting: ReadonlyMap<string, WaitReason>;
  readonly refused: readonly PlanNode[];
};

/**
 * Returns the first candidate that may begin. After one that has been passed over for too long the
 * search ends, as long as the plan itself has nodes in flight: the capacity that they free is kept
 * for it. If only parties outside the plan hold it back, the plan goes on, with one node at a time.
 */
function seek(
  candidates: readonly PlanNode[],
  view: PlanView,
  starved: Starved,
  now: Temporal.Instant,
): CandidateSearch {
  const reasonsOf = reasons(view, now, candidates);
  const hasInFlight = view.snapshot.plan.inFlight.length > 0;
  const waiting = new Map<string, WaitReason>();
  const refused: PlanNode[] = [];
  for (const one of candidates) {
    const { own, limit, time } = reasonsOf(one);
    const no = own ?? limit ?? time?.();
    if (no === undefined) return { one, waiting, refused };
    const starving = limit && starved.get(one.node.uid);
    if (starving !== undefined && hasInFlight && time?.() === undefined)
      return { waiting: new Map([['Starved', reserved(starving, no)], ...waiting]), refused };
    if (limit !== undefined) refused.push(one);
    if (!waiting.has(no.reason) && waiting.size < maxWaiting) waiting.set(no.reason, no);
  }
  return { waiting, refused };
}

function amongCandidates(
  stage: StageNodes,
  view: PlanView,
  candidates: readonly PlanNode[],
  starved: Starved,
  now: Temporal.Instant,
): StartDecision {
  const { name } = stage.stage;
  const { plan } = view.snapshot;
  const shut = inFlightLimit(view, stage) ?? gateBeforeNode(view.gates, now);
  if (shut !== undefined) {
    return {
      stage: name,
      waiting: [shut],
      passedOver: passedOverOf(plan, candidates, [], now),
      ...(shut.until && { requeueAt: shut.until }),
    };
  }
  const { one, waiting, refused } = seek(candidates, view, starved, now);
  const all = [...waiting.values()];
  if (one !== undefined) {
    const others = candidates.filter(({ node }) => node.uid !== one.node.uid);
    return {
      stage: name,
      slot: begun(view.snapshot, one, name, now),
      waiting: all,
      passedOver: passedOverOf(plan, others, refused, now),
    };
  }
  const requeueAt = earliest(all.map(({ until }) => until));
  return {
    stage: name,
    waiting: all,
    passedOver: passedOverOf(plan, candidates, [], now),
    ...(requeueAt && { requeueAt }),
  };
}

/** Returns the decision while hooks have not ended: nothing after them goes on. */
function held(step: HookStep, stage?: string): StartDecision | undefined {
  return step.done
    ? undefined
    : {
        waiting: step.waiting === undefined ? [] : [step.waiting],
        ...(stage !== undefined && { stage }),
        ...(step.requeueAt && { requeueAt: step.requeueAt }),
      };
}

function inStage(stage: StageNodes, view: PlanView, now: Temporal.Instant): StartDecision {
  const { name } = stage.stage;
  const starved = starvedOf(view.snapshot.plan, now);
  const candidates = candidatesOf(stage, view, starved);
  if (candidates.length === 0) return { stage: name, waiting: [] };
  const hooks = runHooks(
    view.snapshot,
    { at: 'BeforeStage', scope: stageScope(name), stage: name },
    now,
  );
  const start = held(hooks, name) ?? amongCandidates(stage, view, candidates, starved, now);
  const fit =
    view.snapshot.plan.prepare && candidates.filter(one => notReady(one, view) === undefined);
  const next = candidates.filter(({ node }) => node.uid !== start.slot?.uid);
  return {
    ...start,
    ...(fit && { candidates: fit }),
    upNext: next.slice(0, maxUpNext).map(({ node }) => node.name),
    hooks: [hooks],
  };
}

/**
 * Runs the hooks after a stage in which every node has its verdict, before anything else goes on.
 */
function hooksAfter(
  stage: StageNodes,
  view: PlanView,
  now: Temporal.Instant,
): HookStep | undefined {
  const { name } = stage.stage;
  return isUsed(stage)
    ? runHooks(view.snapshot, { at: 'AfterStage', scope: stageScope(name), stage: name }, now)
    : undefined;
}

/** Returns which approval is needed, and the command for it. */
function approvalWait(
  what: string,
  { expired }: ApprovalState,
  { plan }: PlanView['snapshot'],
  stage = '',
): WaitReason {
  const before =
    expired === undefined ? '' : `; the approval of ${timeText(expired.createdAt)} has expired`;
  return {
    reason: 'Approval',
    message: `${what}: drydock plan approve ${plan.name}${stage}${before}`,
  };
}

/** Result for a stage that is passed: when that may change. */
type StagePassed = { readonly waiting?: never; readonly requeueAt?: Temporal.Instant };

/**
 * Returns why nothing was done in a stage, for the person who decides whether the plan goes on all
 * the same.
 */
function emptyText(one: StageNodes, { verdicts, snapshot: { plan } }: PlanView): string {
  const { stage, nodes, past } = one;
  if (!isUsed(one)) return `stage ${stage.name} has done nothing: no node of it is due`;
  const failed = verdictsIn(one, verdicts).filter(({ verdict }) => verdict === 'Failed').length;
  const skipped = nodes.filter(({ node }) => plan.skips.has(node.name)).length;
  const parts = [
    failed > 0 && `${failed} failed`,
    skipped > 0 && `${skipped} skipped`,
    `${nodes.length + past.length} in all`,
  ].filter(text => text !== false);
  return `stage ${stage.name} has done nothing: of its nodes ${parts.join(', ')}`;
}

/**
 * Handles an empty stage: it comes before others for a reason, so it is passed only by an approval,
 * however it became empty.
 */
function afterEmptyStage(
  one: StageNodes,
  view: PlanView,
  now: Temporal.Instant,
): StartDecision | StagePassed {
  const { name, approveAfter } = one.stage;
  const agreed = approveAfter ? approvalOf(view, now, name) : promotionOf(view, now, name);
  if (agreed.isGiven) return { ...(agreed.until && { requeueAt: agreed.until }) };
  const what = emptyText(one, view);
  if (approveAfter)
    return {
      stage: name,
      waiting: [
        approvalWait(`${what}, and somebody has to agree`, agreed, view.snapshot, ` ${name}`),
      ],
    };
  const how = `drydock plan promote ${view.snapshot.plan.name} ${name} lets the plan go on`;
  return { stage: name, waiting: [{ reason: 'StageEmpty', message: `${what}; ${how}` }] };
}

/**
 * Returns what keeps the plan from going on after a stage whose nodes all have their verdict, and
 * until when it is passed.
 */
function afterStage(
  one: StageNodes,
  view: PlanView,
  now: Temporal.Instant,
): StartDecision | StagePassed {
  const { name, approveAfter, soakSeconds } = one.stage;
  if (!approveAfter && soakSeconds === 0) return {};
  if (doneIn(one, view.verdicts).length === 0) return afterEmptyStage(one, view, now);
  const promotion = promotionOf(view, now, name);
  const waiting = view.soak?.soak.stage === name ? view.soak.waiting : undefined;
  if (waiting !== undefined && !promotion.isGiven)
    return { stage: name, waiting: [waiting], ...(waiting.until && { requeueAt: waiting.until }) };
  const agreed: ApprovalState = approveAfter ? approvalOf(view, now, name) : { isGiven: true };
  const requeueAt = earliest([agreed.until, promotion.until]);
  if (agreed.isGiven) return { ...(requeueAt && { requeueAt }) };
  return {
    stage: name,
    waiting: [
      approvalWait(
        `stage ${name} is done (${shownBy(one, view)}), and somebody has to agree`,
        agreed,
        view.snapshot,
        ` ${name}`,
      ),
    ],
  };
}

function blocked({ selected }: PlanView): readonly WaitReason[] {
  for (const { node, due } of selected.values()) {
    if (typeof due === 'object')
      return [
        { reason: 'Blocked', message: `spec.due.expression fails: ${due.error}`, node: node.name },
      ];
  }
  return [];
}

/** Decides by the first stage that is not over. */
function inStages(view: PlanView, now: Temporal.Instant): StartDecision {
  const underWay = view.stages.map(({ stage }) => view.underWay.has(stage.name));
  const later: (Temporal.Instant | undefined)[] = [];
  const hooks: HookStep[] = [];
  for (const [index, stage] of view.stages.entries()) {
    const isNow = underWay[index] === true;
    const ended = isNow ? undefined : hooksAfter(stage, view, now);
    if (ended !== undefined) hooks.push(ended);
    const shut = ended && held(ended, stage.stage.name);
    const start: StartDecision | StagePassed =
      shut ??
      (isNow
        ? inStage(stage, view, now)
        : underWay.includes(true, index + 1)
          ? afterStage(stage, view, now)
          : {});
    later.push(start.requeueAt);
    if (start.waiting === undefined) continue;
    const requeueAt = earliest(later);
    const all = [...hooks, ...(start.hooks ?? [])];
    return {
      ...start,
      waiting: [...start.waiting, ...blocked(view)],
      hooks: all,
      ...(requeueAt && { requeueAt }),
    };
  }
  const waiting = blocked(view);
  return { waiting, hooks, ...(waiting.length === 0 && { over: true }) };
}

/** Returns what begins next, if anything. */
export function nextStart(view: PlanView, now: Temporal.Instant): StartDecision {
  // The verdict is recorded first: it may halt the plan.
  if (view.soak?.failed !== undefined)
    return { waiting: view.soak.waiting === undefined ? [] : [view.soak.waiting] };
  const agreed: ApprovalState = view.snapshot.plan.needsApproval
    ? approvalOf(view, now)
    : { isGiven: true };
  if (!agreed.isGiven)
    return { waiting: [approvalWait('somebody has to agree to the run', agreed, view.snapshot)] };
  const rehearsal = view.open.size > 0 ? awaitRehearsal(view) : undefined;
  if (rehearsal !== undefined) return { waiting: [rehearsal] };
  const before = runHooks(view.snapshot, { at: 'BeforeRun', scope: runScope }, now);
  const start = held(before) ?? inStages(view, now);
  const isEnd = start.over === true && view.snapshot.plan.inFlight.length === 0;
  const after = isEnd
    ? runHooks(view.snapshot, { at: 'AfterRun', scope: runScope }, now)
    : undefined;
  const last = (after && held(after)) ?? start;
  const requeueAt = earliest([last.requeueAt, agreed.until]);
  return {
    ...last,
    hooks: [before, ...(start.hooks ?? []), ...(after ? [after] : [])],
    ...(requeueAt && { requeueAt }),
  };
}
