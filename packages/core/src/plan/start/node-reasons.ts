import { earliest, isBefore, secondsAfter, timeText } from '@drydock/apimachinery';
import { revisionOfRun } from '../contest.ts';
import type { InFlight } from '../in-flight.ts';
import type { Plan, Run, StarvedNode } from '../plan.ts';
import type { Approval, PlanNode, PlanSnapshot, WaitReason } from '../snapshot.ts';
import { unsoundness } from '../stop.ts';
import { type NodeUnavailability, outageBy } from '../unavailability.ts';
import type { PlanView } from '../view.ts';

/** Reasons of a node itself not to begin, regardless of limits and times. */

/**
 * Returns the plan that has left the node held without having it in flight: the work of that plan
 * has failed on it, and its state is unknown.
 */
function leftBy(
  node: PlanNode['node'],
  { plan, outages, others }: PlanSnapshot,
): string | undefined {
  const isFlying = (by: string): boolean =>
    others.some(
      ({ name, inFlight }) => outageBy(name) === by && inFlight.some(one => one.node === node.name),
    );
  const found = (outages.get(node.name) ?? []).find(
    ({ reason, by }) => reason === 'Plan' && by !== outageBy(plan.name) && !isFlying(by),
  );
  return found?.by;
}

/**
 * Returns who else has the node out of service, or that it is about to be gone: nothing works on it
 * beside that. Plans share a node, one after the other.
 */
function heldBy({ node }: PlanNode, { snapshot }: PlanView): WaitReason | undefined {
  const { foreignCordon } = snapshot.plan.concurrency;
  const outages = snapshot.outages.get(node.name) ?? [];
  const isShared = ({ reason }: NodeUnavailability): boolean =>
    reason === 'Plan' ||
    reason === 'NotReady' ||
    (reason === 'ForeignCordon' && foreignCordon !== 'Wait');
  const held = outages.find(outage => !isShared(outage));
  if (held !== undefined) return { reason: 'HeldBy', message: held.by, node: node.name };
  const left = leftBy(node, snapshot);
  if (left === undefined) return undefined;
  const message = `${left} has failed on it and left it held: retry or release it there, or leave it out with drydock plan skip ${snapshot.plan.name} ${node.name}`;
  return { reason: 'HeldBy', message, node: node.name };
}

/**
 * Returns why the node cannot be worked on: it costs no limit and gets no slot, and has its turn
 * when it is back.
 */
export function notReady({ node }: PlanNode, { snapshot }: PlanView): WaitReason | undefined {
  const lack = unsoundness(node);
  if (lack === undefined || snapshot.plan.work.kind === 'external') return undefined;
  const helps = `it begins when that is over, or leave it out with drydock plan skip ${snapshot.plan.name} ${node.name}`;
  return { reason: 'NotReady', message: `Node ${node.name} ${lack}: ${helps}`, node: node.name };
}

/** Returns why nothing would replace a node without a Machine. */
function noReplacement(
  { node, machine, noMachine }: PlanNode,
  { snapshot }: PlanView,
): WaitReason | undefined {
  return snapshot.plan.work.kind !== 'replace' || machine !== undefined
    ? undefined
    : {
        reason: 'NoMachine',
        message: `nothing would replace node ${node.name}: ${noMachine ?? 'no Machine is known'}`,
        node: node.name,
      };
}

/**
 * Returns why the built-in reboot does not apply: it is for Linux; the kubelet that registers the
 * node sets its operating system (kubernetes.io/os).
 */
function unbootable(
  { node: { name, labels } }: PlanNode,
  { snapshot: { plan } }: PlanView,
): WaitReason | undefined {
  const os = labels['kubernetes.io/os'] ?? 'linux';
  if (plan.work.kind !== 'reboot' || os === 'linux') return undefined;
  const helps = `reboot it by a pod of your own (spec.work.job), or leave it out with drydock plan skip ${plan.name} ${name}`;
  return {
    reason: 'NotLinux',
    message: `Node ${name} runs ${os}, and spec.work.reboot is for Linux: ${helps}`,
    node: name,
  };
}

/** Returns the first reason; undefined if the node could be worked on. */
export function ownReason(one: PlanNode, view: PlanView): WaitReason | undefined {
  return (
    notReady(one, view) ?? noReplacement(one, view) ?? unbootable(one, view) ?? heldBy(one, view)
  );
}

/**
 * Nodes that limits hold back while others of the plan begin: a node that has waited too long
 * reserves the limits.
 */

/**
 * Number of nodes that are remembered: the one that has waited longest is enough, and the next ones
 * follow.
 */
const maxPassedOver = 20;

function starvedAt({ since }: StarvedNode, plan: Plan): Temporal.Instant {
  return secondsAfter(since, plan.starvedAfterSeconds ?? 0);
}

/** Returns the nodes that have waited too long, by uid. */
export function starvedOf(plan: Plan, now: Temporal.Instant): ReadonlyMap<string, StarvedNode> {
  return plan.starvedAfterSeconds === undefined
    ? new Map()
    : new Map(
        plan.passedOver
          .filter(one => !isBefore(now, starvedAt(one, plan)))
          .map(one => [one.uid, one]),
      );
}

/**
 * Returns the nodes that are still to begin, with the times that they keep, and the nodes in
 * `refused`, which limits have held back while another node begins.
 */
export function passedOverOf(
  plan: Plan,
  candidates: readonly PlanNode[],
  refused: readonly PlanNode[],
  now: Temporal.Instant,
): readonly StarvedNode[] {
  if (plan.starvedAfterSeconds === undefined) return [];
  const open = new Set(candidates.map(({ node }) => node.uid));
  const kept = plan.passedOver.filter(({ uid }) => open.has(uid));
  const known = new Set(kept.map(({ uid }) => uid));
  const fresh = refused
    .filter(({ node }) => !known.has(node.uid))
    .map(({ node }) => ({ node: node.name, uid: node.uid, since: now }));
  return [...kept, ...fresh].slice(0, maxPassedOver);
}

/** Returns the reason for others: none begins before the starved node. */
export function reserved(
  { node, since }: StarvedNode,
  { reason, message }: WaitReason,
): WaitReason {
  return {
    reason: 'Starved',
    message: `${node} has been passed over since ${timeText(since)}: no other node begins before it, and it waits for ${reason}: ${message}`,
    node,
  };
}

/** Approvals: that a run begins, that it goes on after a stage, or that a quiet time is over. */

/** State of an approval now. */
export type ApprovalState = {
  readonly isGiven: boolean;
  /** Time from which it is void, unless whatever it approves has begun by then. */
  readonly until?: Temporal.Instant;
  /** Approval that has expired. */
  readonly expired?: Approval;
};

/**
 * Reports whether it was given to this very run, of this plan and not of an earlier one of the same
 * name.
 */
function isOfRun({ plan: name, run, revision, createdAt }: Approval, plan: Plan): boolean {
  return (
    name === plan.name &&
    plan.run !== undefined &&
    run === plan.run.id &&
    revision === revisionOfRun(plan.run) &&
    !isBefore(createdAt, plan.createdAt)
  );
}

/**
 * Returns the spec that it agrees to: the one that it names, otherwise the one that existed when it
 * was first observed.
 */
function agreedSpecOf({ specHash, uid }: Approval, plan: Plan): string {
  return specHash ?? plan.run?.agreed?.get(uid) ?? plan.specHash;
}

/**
 * Reports whether it was given to the plan in its current form: an approval from before an edit is
 * void.
 */
function isFor(approval: Approval, plan: Plan): boolean {
  return isOfRun(approval, plan) && agreedSpecOf(approval, plan) === plan.specHash;
}

/** Returns the run, with the spec at the first observation of each approval that names none. */
export function runWithAgreed(run: Run, { plan, approvals }: PlanView['snapshot']): Run {
  const unnamed = approvals.filter(
    one => one.specHash === undefined && isOfRun(one, { ...plan, run }),
  );
  const { agreed: _agreed, ...rest } = run;
  return unnamed.length === 0
    ? rest
    : {
        ...rest,
        agreed: new Map(unnamed.map(one => [one.uid, agreedSpecOf(one, { ...plan, run })])),
      };
}

/** Returns the names of the stages after this one; all of them if there is none. */
function stagesBehind({ stages }: PlanView, stage: string | undefined): ReadonlySet<string> {
  const names = stages.map(one => one.stage.name);
  return new Set(stage === undefined ? names : names.slice(names.indexOf(stage) + 1));
}

/**
 * Returns the times at which nodes of this run began after this stage, or in any stage if there is
 * none.
 */
export function startsBehind(view: PlanView, stage?: string): readonly Temporal.Instant[] {
  const { plan, slices } = view.snapshot;
  const { run } = plan;
  if (run === undefined) return [];
  const behind = stagesBehind(view, stage);
  const flying = plan.inFlight.filter(({ revision }) => revision === run.revision);
  const stored = [...(run.begun ?? [])].map(([of, startedAt]) => ({ stage: of, startedAt }));
  // A remainder of another run of the same work has begun before this one.
  return [...stored, ...slices.flatMap(({ verdicts }) => verdicts), ...flying].flatMap(one =>
    behind.has(one.stage) && !isBefore(one.startedAt, run.startedAt) ? one.startedAt : [],
  );
}

function agreement(
  view: PlanView,
  stage: string | undefined,
  given: readonly Approval[],
  now: Temporal.Instant,
): ApprovalState {
  const { approvalExpiresAfter: seconds } = view.snapshot.plan;
  if (seconds === undefined || given.length === 0) return { isGiven: given.length > 0 };
  const begun = earliest(startsBehind(view, stage));
  const endOf = ({ createdAt }: Approval): Temporal.Instant => secondsAfter(createdAt, seconds);
  const valid = given.filter(one => isBefore(begun ?? now, endOf(one)));
  const [expired] = given;
  if (valid.length === 0) return { isGiven: false, ...(expired && { expired }) };
  const until = begun === undefined ? earliest(valid.map(endOf)) : undefined;
  return { isGiven: true, ...(until && { until }) };
}

function about(
  { snapshot: { plan, approvals } }: PlanView,
  stage: string | undefined,
): readonly Approval[] {
  return approvals.filter(
    one => isFor(one, plan) && (one.promote === 'Full' || one.stage === stage),
  );
}

/** Returns the approval of the run, or of the stages after this one. */
export function approvalOf(view: PlanView, now: Temporal.Instant, stage?: string): ApprovalState {
  return agreement(view, stage, about(view, stage), now);
}

/** Returns the promotion that ends the quiet time after this stage. */
export function promotionOf(view: PlanView, now: Temporal.Instant, stage: string): ApprovalState {
  return agreement(
    view,
    stage,
    about(view, stage).filter(one => one.promote !== undefined),
    now,
  );
}

/**
 * Returns the run, with the time at which its stage began: an approval that held then continues to
 * hold.
 */
export function runWith(run: Run, plan: Plan, begun: InFlight | undefined): Run {
  return begun === undefined ||
    plan.approvalExpiresAfter === undefined ||
    run.begun?.has(begun.stage) === true
    ? run
    : { ...run, begun: new Map([...(run.begun ?? []), [begun.stage, begun.startedAt]]) };
}
