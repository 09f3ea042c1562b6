import { earliest, isBefore, isObject, type JsonObject, joinLimited } from '@drydock/apimachinery';
import type { DrainPolicy } from '../drain/policy.ts';
import type { NodeVerdict } from './in-flight.ts';
import type { Plan, Run } from './plan.ts';
import type { Approval, PlanDecision, PlanNode, PlanSnapshot, RecordSlice } from './snapshot.ts';
import { pauseNow } from './unavailability.ts';

/**
 * Plans that work against each other: nodes that one has done are due again when the other is done
 * with them. Each plan takes a node once a run; a user who runs them in turn has to be warned.
 */

/** Records of another plan. */
export type OtherRecords = { readonly name: string; readonly slices: readonly RecordSlice[] };

function doneOf(slices: readonly RecordSlice[]): readonly NodeVerdict[] {
  return slices.flatMap(({ verdicts }) => verdicts.filter(({ verdict }) => verdict === 'Done'));
}

/**
 * Returns, by uid of nodes that the run was done with and that are not done any more, the other
 * plan that was done with them last, after it.
 */
export function doneSince(
  slices: readonly RecordSlice[],
  nodes: PlanSnapshot['nodes'],
  others: readonly OtherRecords[],
): PlanSnapshot['doneSince'] {
  const isUndone = ({ node: name, uid }: NodeVerdict): boolean => {
    const one = nodes.get(name);
    return one?.node.uid === uid && one.done !== true;
  };
  const latest = new Map(
    doneOf(slices)
      .filter(isUndone)
      .map(({ uid, completedAt }) => [uid, completedAt]),
  );
  const found = new Map<string, string>();
  if (latest.size === 0) return found;
  for (const { name, slices: theirs } of others) {
    for (const { uid, completedAt } of doneOf(theirs)) {
      const before = latest.get(uid);
      if (before === undefined || isBefore(completedAt, before)) continue;
      latest.set(uid, completedAt);
      found.set(uid, name);
    }
  }
  return found;
}

/** Groups nodes that are due again by the other plan that was done with them since. */
function byPlan(
  dueAgain: readonly PlanNode[],
  { doneSince: since }: PlanSnapshot,
): readonly (readonly [string, readonly string[]])[] {
  const contested = dueAgain.flatMap(({ node }) => {
    const plan = since.get(node.uid);
    return plan === undefined ? [] : [{ plan, node: node.name }];
  });
  return [...Map.groupBy(contested, ({ plan }) => plan)].map(([plan, all]) => [
    plan,
    all.map(({ node }) => node),
  ]);
}

const maxPlans = 2;
const maxNodes = 3;

/**
 * Returns the plans that were done with the nodes since, for the message of the plan; empty if
 * there are none.
 */
export function contestants(dueAgain: readonly PlanNode[], snapshot: PlanSnapshot): string {
  const texts = byPlan(dueAgain, snapshot).map(
    ([plan, nodes]) => `plan ${plan} was done with ${nodes.length} of them since`,
  );
  return texts.length === 0 ? '' : ` (${joinLimited(texts, maxPlans)})`;
}

/** Returns the same with the names of the nodes, and a remedy; undefined if there are none. */
export function contestText(
  dueAgain: readonly PlanNode[],
  snapshot: PlanSnapshot,
): string | undefined {
  const texts = byPlan(dueAgain, snapshot).map(
    ([plan, nodes]) =>
      `${nodes.length} nodes that were done are due again, and plan ${plan} was done with them since (${joinLimited(nodes, maxNodes)})`,
  );
  if (texts.length === 0) return undefined;
  const way = `change one of them, or drydock plan skip ${snapshot.plan.name} leaves the nodes out`;
  return `${joinLimited(texts, maxPlans)}: if the plans have opposite aims, ${way}`;
}

/**
 * Reports whether the plan was never allowed to begin: it has not been processed, is not valid, or
 * waits for the approval of its run.
 */
function isDraft({ run, problem, status: { phase, run: stored } }: Plan): boolean {
  const isAsked =
    phase === 'AwaitingApproval' &&
    (stored as { readonly stage?: string } | undefined)?.stage === undefined;
  return run === undefined || problem !== undefined || phase === 'Pending' || isAsked;
}

/**
 * Reports whether the limits of a plan count for others: it has nodes in flight, or will begin with
 * some. A draft, a paused or aborted plan, and one that is over delay no other plan, unless they
 * have nodes in flight.
 */
export function isUnderWayNow(plan: Plan, now: Temporal.Instant): boolean {
  if (plan.inFlight.length > 0) return true;
  const { phase } = plan.status;
  const isOver = phase === 'Complete' || phase === 'Aborted';
  return (
    !isOver &&
    !plan.aborted &&
    !plan.deleting &&
    pauseNow(plan, now) === undefined &&
    !isDraft(plan)
  );
}

/**
 * Fields in the spec of a MaintenancePlan that determine what is done, on which nodes, and how that
 * is proven.
 */
const parts = ['due', 'done', 'prepare', 'work'] as const;

/** Reports whether the plan is undone: its rollback replaces these fields. */
export function isUndone(spec: JsonObject): boolean {
  return spec['direction'] === 'Rollback' && isObject(spec['rollback']);
}

/**
 * Returns these fields as they are carried out. A rollback without a `due` of its own is for the
 * nodes for which that of the plan is false. Its expression is on a line of its own: it may end in
 * a comment.
 */
export function partsInForce(spec: JsonObject): JsonObject {
  const of = isUndone(spec) ? (spec['rollback'] as JsonObject) : spec;
  const found = Object.fromEntries(
    parts.flatMap(part => (of[part] === undefined ? [] : [[part, of[part]]])),
  );
  const due = isObject(spec['due']) ? spec['due']['expression'] : undefined;
  if (of === spec || of['due'] !== undefined || typeof due !== 'string') return found;
  return { due: { expression: `!(${due}\n)` }, ...found };
}

/** An adapter that reads and writes the kinds about plans; implemented in `packages/apis/src`. */
export type PlanAdapter = {
  readonly readPlan: (raw: unknown) => Plan;
  readonly readRecord: (raw: unknown) => RecordSlice;
  readonly readApproval: (raw: unknown) => Approval;
  /** Function that parses `spec.drain` of a Maintenance, with its defaults. */
  readonly drainPolicy: (drain: JsonObject) => DrainPolicy;
  /** Function that returns the whole status for a decision. */
  readonly status: (decision: PlanDecision, plan: Plan, now: Temporal.Instant) => JsonObject;
};

/** Number of past runs whose records are kept beside the current one. */
const keptRuns = 3;

/**
 * Returns the revision of a run in records and approvals: no other run of the plan has it, even if
 * runID and work return to earlier values.
 */
export function revisionOfRun({ revision, number = 1 }: Pick<Run, 'revision' | 'number'>): string {
  return number === 1 ? revision : `${revision}-${number}`;
}

function lastOf(slices: readonly RecordSlice[]): number {
  return Math.max(
    0,
    ...slices.flatMap(({ verdicts }) =>
      verdicts.map(({ completedAt }) => completedAt.epochMilliseconds),
    ),
  );
}

/** Reports whether anything was done to the node in that turn, beyond holding and draining it. */
export function hadBegun({ state }: Pick<NodeVerdict, 'state'>): boolean {
  return state !== 'Starting' && state !== 'Holding';
}

/**
 * Returns the uids of nodes whose last verdict among these is a failure of the work: how far it
 * came on them is unknown.
 */
export function unfinishedIn(verdicts: readonly NodeVerdict[]): ReadonlySet<string> {
  const last = new Map<string, NodeVerdict>();
  for (const one of verdicts) {
    const before = last.get(one.uid);
    const isDecided = one.verdict === 'Done' || (one.verdict === 'Failed' && hadBegun(one));
    if (
      isDecided &&
      (before === undefined || Temporal.Instant.compare(before.completedAt, one.completedAt) <= 0)
    )
      last.set(one.uid, one);
  }
  return new Set(
    [...last.values()].flatMap(({ uid, verdict }) => (verdict === 'Failed' ? uid : [])),
  );
}

type Sorted = {
  readonly slices: readonly RecordSlice[];
  readonly outdated: readonly RecordSlice[];
  readonly unfinished: ReadonlySet<string>;
};

/**
 * Sorts the records of a plan: those of this run, those of old runs, which are deleted, and the
 * nodes that earlier runs have left unfinished.
 */
export function sortRecords(
  all: readonly RecordSlice[],
  run: Pick<Run, 'id' | 'revision' | 'number'>,
): Sorted {
  const runs = Map.groupBy(all, slice => JSON.stringify([slice.run, slice.revision]));
  const current = JSON.stringify([run.id, revisionOfRun(run)]);
  const slices = (runs.get(current) ?? []).toSorted((one, other) => one.slice - other.slice);
  runs.delete(current);
  const before = [...runs.values()];
  const outdated = before.toSorted((one, other) => lastOf(other) - lastOf(one)).slice(keptRuns);
  return {
    slices,
    outdated: outdated.flat(),
    unfinished: unfinishedIn(before.flat().flatMap(({ verdicts }) => verdicts)),
  };
}

/**
 * Reports whether a user has set a failure of this time aside. A failure of a node uses the entry
 * of the node, if there is one.
 */
export function isRetried(
  failedAt: Temporal.Instant,
  { retries }: Pick<Plan, 'retries'>,
  node = '*',
): boolean {
  const before = retries.get(node) ?? retries.get('*');
  return before !== undefined && Temporal.Instant.compare(failedAt, before) <= 0;
}

/**
 * Returns the entries that count now, and when the next one will: an entry with a future time would
 * set aside failures that have not happened yet.
 */
export function retriesNow(
  { retries }: Pick<Plan, 'retries'>,
  now: Temporal.Instant,
): { readonly retries: Plan['retries']; readonly next?: Temporal.Instant } {
  const later = [...retries].filter(([, before]) => isBefore(now, before));
  if (later.length === 0) return { retries };
  const next = earliest(later.map(([, before]) => before));
  return {
    retries: new Map([...retries].filter(([, before]) => !isBefore(now, before))),
    ...(next && { next }),
  };
}
