import {
  isBefore,
  isObject,
  type JsonObject,
  readTime,
  secondsAfter,
  unavailableLimit,
} from '@drydock/apimachinery';
import type { Identified, Machine } from '@drydock/core/machine';
import { instanceOf } from '@drydock/core/machine';
import { isChanged } from '@drydock/core/maintenance';
import type {
  CelResult,
  MachineRef,
  OtherPlan,
  Plan,
  PlanAdapter,
  PlanNode,
  PlanSettings,
  PlanSnapshot,
} from '@drydock/core/plan';
import {
  type DeletedMachine,
  doneSince,
  drainOf,
  holdNameOf,
  isUnderWayNow,
  type OtherRecords,
  outagesOf,
  sortRecords,
} from '@drydock/core/plan';
import { membersOf } from '@drydock/core/quorum';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CachedNode } from '../cache/pod-watches.ts';
import type { MachineCache } from '../machines/machine-cache.ts';
import type { PlanExpressions } from './expressions.ts';
import type { GateObjects, NodeSelections } from './gate-objects.ts';
import type { GateQueries } from './gate-queries.ts';
import { gateValues } from './gates.ts';
import type { PlanCache } from './plan-cache.ts';

export type SnapshotInputs = {
  readonly plans: PlanCache;
  readonly cache: ClusterCache;
  readonly selections: NodeSelections;
  readonly machines: MachineCache;
  readonly gateObjects: GateObjects;
  readonly gateQueries: GateQueries;
  readonly expressionsOf: (plan: Plan) => PlanExpressions;
  readonly settings: () => PlanSettings;
  readonly drainPolicy: PlanAdapter['drainPolicy'];
  /**
   * Function that returns the last refusals of the API server for the plan, by what they are about.
   */
  readonly refusals: (plan: string) => ReadonlyMap<string, string>;
  /** Function that returns the things of the plan whose writes have no response yet. */
  readonly unanswered: (plan: string) => ReadonlySet<string>;
  /** Function that returns the mark of the time that this process has watched without a break. */
  readonly watch: () => string;
  /** Function that returns random letters, different ones each time. */
  readonly nonce: () => string;
  readonly ownNode?: string;
  /**
   * Function that returns since when this process has watched everything that plans read; undefined
   * before.
   */
  readonly watchedSince: () => Temporal.Instant;
};

/** A node, its form in expressions, and its Machine, if the plan needs it. */
type Seen = {
  readonly node: CachedNode;
  readonly object: JsonObject;
  readonly createdAt: Temporal.Instant;
  readonly selected: boolean;
  readonly identity?: Identified<Machine> | undefined;
};

function machineOf({ identity }: Seen): Machine | undefined {
  return identity !== undefined && 'found' in identity ? identity.found : undefined;
}

function createdAtOf({ metadata }: JsonObject): Temporal.Instant {
  return (
    readTime(isObject(metadata) ? metadata['creationTimestamp'] : undefined) ??
    Temporal.Instant.fromEpochMilliseconds(0)
  );
}

function dueOf(plan: Plan, { due }: PlanExpressions, seen: Seen, now: Temporal.Instant): CelResult {
  const { object, createdAt } = seen;
  const isDue = due?.(object, now, machineOf(seen)) ?? true;
  const { dueAfterSeconds } = plan;
  const isYoung =
    dueAfterSeconds !== undefined && isBefore(now, secondsAfter(createdAt, dueAfterSeconds));
  return isDue === true && isYoung ? false : isDue;
}

function linkOf({ apiVersion, namespace, name, providerId }: Machine): MachineRef {
  return {
    apiVersion,
    namespace,
    name,
    instance: instanceOf(providerId) ?? name,
  };
}

function planNodeOf(
  plan: Plan,
  seen: Seen,
  expressions: PlanExpressions,
  now: Temporal.Instant,
): PlanNode {
  const { node, object, createdAt, selected, identity } = seen;
  const machine = machineOf(seen);
  const due = dueOf(plan, expressions, seen, now);
  return {
    node,
    createdAt,
    selected,
    due,
    done:
      expressions.done?.(object, now, machine) ??
      (expressions.due === undefined ? true : typeof due === 'boolean' ? !due : due),
    finished: expressions.finished?.(object, now, machine) ?? false,
    rank: expressions.rank?.(object, now, machine) ?? 0,
    ...(machine && { machine: linkOf(machine) }),
    ...(identity !== undefined && 'lack' in identity && { noMachine: identity.lack }),
  };
}

function otherOf(plan: Plan, { selections }: SnapshotInputs): OtherPlan {
  // The machine of a node in flight may be gone, and its node with it: the node counts as out until
  // there is another.
  const { selected: free } = selections.of(plan);
  const selected = plan.inFlight.every(({ node }) => free.has(node))
    ? free
    : new Set([...free, ...plan.inFlight.map(({ node }) => node)]);
  const most = unavailableLimit(plan.concurrency, selected.size);
  return {
    name: plan.name,
    selected,
    inFlight: plan.inFlight,
    ...(most !== undefined && { maxUnavailable: most }),
  };
}

/** Reports whether a plan reads Machines: its decisions need all of them. */
export function asksForMachines({ work }: Plan, { readsMachine }: PlanExpressions): boolean {
  return work.kind === 'replace' || readsMachine;
}

/**
 * Returns the Machines that are being deleted: their nodes go with them. A Machine that is not
 * proven to be one of our nodes removes none.
 */
function deletedMachines({ machines, cache }: SnapshotInputs): readonly DeletedMachine[] {
  return [...machines.machines.values()].flatMap(machine => {
    if (!machine.deleting) return [];
    const node = cache.nodes.of(machine);
    return 'found' in node ? [{ name: machine.name, nodeName: node.found.name }] : [];
  });
}

/**
 * Returns the Machine that will exist when the node's turn comes: one that is being deleted does
 * not count.
 */
function identityOf({ machines }: SnapshotInputs, node: CachedNode): Identified<Machine> {
  const machine = machines.machines.of(node);
  return 'found' in machine && machine.found.deleting
    ? {
        lack: `Machine ${machine.found.namespace}/${machine.found.name} of node ${node.name} is being deleted already`,
      }
    : machine;
}

/**
 * Returns the MachineMaintenances in the namespace where they are created, so that no user without
 * rights in that namespace can replace one.
 */
function replacementsOf(
  plan: Plan,
  { machines, settings }: SnapshotInputs,
): PlanSnapshot['replacements'] {
  if (plan.work.kind !== 'replace') return new Map();
  const { machineNamespace } = settings();
  return new Map(
    [...machines.requests.values()].flatMap(one =>
      one.namespace === machineNamespace ? [[one.name, one] as const] : [],
    ),
  );
}

type Named = Pick<PlanSnapshot, 'children' | 'slices'>;

/** Returns the nodes that the plan selects, and those that its objects and records name. */
function nodesOf(
  plan: Plan,
  inputs: SnapshotInputs,
  { children, slices }: Named,
  now: Temporal.Instant,
): PlanSnapshot['nodes'] {
  const { cache, selections, expressionsOf } = inputs;
  const expressions = expressionsOf(plan);
  expressions.pool.begin(now);
  const asksForIdentity = asksForMachines(plan, expressions);
  const { matching } = selections.of(plan);
  const wanted = [
    ...plan.inFlight.map(({ node }) => node),
    ...[...children.values()].map(({ nodeName }) => nodeName),
    // The soak time of a stage watches its nodes, regardless of their current labels.
    ...slices.flatMap(({ verdicts }) =>
      verdicts.flatMap(({ node, verdict }) => (verdict === 'Done' ? node : [])),
    ),
  ];
  const found = new Map<string, PlanNode>();
  for (const name of new Set([...matching, ...wanted])) {
    const node = cache.nodes.get(name);
    if (node?.object === undefined) continue;
    const { object } = node;
    const identity = asksForIdentity ? identityOf(inputs, node) : undefined;
    const seen = {
      node,
      object,
      createdAt: createdAtOf(object),
      selected: matching.has(name),
      identity,
    };
    found.set(name, planNodeOf(plan, seen, expressions, now));
  }
  return found;
}

function gateInputs({
  cache,
  gateObjects,
  gateQueries,
}: SnapshotInputs): Parameters<typeof gateValues>[2] {
  return {
    budgets: () => cache.budgets.values(),
    objects: gateObjects,
    queries: gateQueries,
  };
}

/** Returns the plan's Maintenances, and those of other owners with a name that it needs. */
function childrenOf(plan: Plan, { cache }: SnapshotInputs): PlanSnapshot['children'] {
  const needed = new Set(plan.inFlight.map(one => holdNameOf(plan, one)));
  const found = [...cache.requests.values()].filter(
    one => one.plan === plan.name || (needed.has(one.name) && one.adapter.kind === 'Maintenance'),
  );
  return new Map(found.map(request => [request.name, request]));
}

/** Returns the names of its Maintenances whose drain policy differs from the plan's. */
function changedAmong(
  children: PlanSnapshot['children'],
  plan: Plan,
  { settings, drainPolicy }: SnapshotInputs,
): ReadonlySet<string> {
  const wanted = drainPolicy(drainOf(plan, settings()));
  const changed = [...children.values()].filter(
    child => child.plan === plan.name && isChanged(child, wanted),
  );
  return new Set(changed.map(({ name }) => name));
}

/**
 * Returns its pods by name, and every other pod with a name that it has assigned: only the plan
 * knows these names before the pods are created.
 */
function podsOf(
  { name, inFlight, preparing, hookRuns, rehearsal }: Plan,
  { plans }: SnapshotInputs,
): PlanSnapshot['pods'] {
  const tasks = [...inFlight, ...preparing, ...hookRuns, ...(rehearsal ? [rehearsal] : [])];
  const named = tasks.flatMap(({ pod }) =>
    pod === undefined ? [] : (plans.pods.get(`${plans.workNamespace}/${pod}`) ?? []),
  );
  return new Map([...named, ...plans.pods.in(name)].map(pod => [pod.name, pod]));
}

function recordsOf(others: readonly Plan[], { plans }: SnapshotInputs): readonly OtherRecords[] {
  return others.map(({ name, uid }) => ({ name, slices: plans.records.in(uid) }));
}

/** Takes the snapshot of one plan: everything known about it at this moment. */
export function takePlanSnapshot(
  plan: Plan,
  inputs: SnapshotInputs,
  now: Temporal.Instant,
): PlanSnapshot {
  const { plans, cache, settings, ownNode } = inputs;
  const children = childrenOf(plan, inputs);
  const records = sortRecords(
    plans.records.in(plan.uid),
    plan.run ?? { id: plan.runId, revision: plan.revision },
  );
  const nodes = nodesOf(plan, inputs, { children, slices: records.slices }, now);
  const others = [...plans.plans.values()].filter(({ name }) => name !== plan.name);
  const { halted } = plans;
  return {
    plan,
    nodes,
    outages: outagesOf({
      nodes: cache.nodes.values(),
      requests: cache.requests.values(),
      plans: plans.plans.values(),
      machines: deletedMachines(inputs),
    }),
    children,
    changedChildren: changedAmong(children, plan, inputs),
    replacements: replacementsOf(plan, inputs),
    pods: podsOf(plan, inputs),
    ...records,
    doneSince: doneSince(records.slices, nodes, recordsOf(others, inputs)),
    gates: gateValues(plan, inputs.expressionsOf(plan), gateInputs(inputs), now),
    approvals: plans.approvals.in(plan.name),
    others: others.filter(other => isUnderWayNow(other, now)).map(other => otherOf(other, inputs)),
    members: membersOf(cache.nodes.controlPlane),
    windows: [...cache.windows.values()],
    windowsProblem: cache.knownWindows.problemFor(plan),
    settings: settings(),
    refusals: inputs.refusals(plan.name),
    unanswered: inputs.unanswered(plan.name),
    watch: inputs.watch(),
    watchedSince: inputs.watchedSince(),
    nonce: inputs.nonce(),
    ...(ownNode !== undefined && { ownNode }),
    ...(halted !== undefined && { halted }),
  };
}
