import { unavailableLimit } from '../../core/int-or-percent.ts';
import { isObject, type JsonObject } from '../../core/json.ts';
import type { Identified } from '../../core/machine/identity.ts';
import type { Machine } from '../../core/machine/machine.ts';
import { instanceOf } from '../../core/machine/provider-id.ts';
import { isChanged } from '../../core/maintenance/child.ts';
import type { PlanAdapter } from '../../core/plan/adapter.ts';
import { doneSince, type OtherRecords } from '../../core/plan/contest.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { sortRecords } from '../../core/plan/records.ts';
import type { CelResult, MachineRef, OtherPlan, PlanNode, PlanSettings, PlanSnapshot } from '../../core/plan/snapshot.ts';
import { type DeletedMachine, outagesOf } from '../../core/plan/unavailability.ts';
import { isUnderWayNow } from '../../core/plan/under-way.ts';
import { drainOf, holdNameOf } from '../../core/plan/writes.ts';
import { membersOf } from '../../core/quorum/quorum.ts';
import { isBefore, readTime, secondsAfter } from '../../core/time.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { CachedNode } from '../cache/whole-node.ts';
import type { MachineCache } from '../machines/machine-cache.ts';
import type { PlanExpressions } from './expressions.ts';
import type { GateObjects } from './gate-objects.ts';
import type { GateQueries } from './gate-queries.ts';
import { gateValues } from './gates.ts';
import type { NodeSelections } from './node-selections.ts';
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
  /** What the API server has refused last of the plan, by what it is about. */
  readonly refusals: (plan: string) => ReadonlyMap<string, string>;
  /** What writes of the plan are about that have no answer yet. */
  readonly unanswered: (plan: string) => ReadonlySet<string>;
  /** Stands for the time that this process has watched without a break. */
  readonly watch: () => string;
  /** Random letters, others each time. */
  readonly nonce: () => string;
  readonly ownNode?: string;
  /** Since when this process has watched all that plans look at; undefined before. */
  readonly watchedSince: () => Temporal.Instant;
};

/** A node, what expressions see of it, and its Machine, where the plan asks for it. */
type Seen = {
  readonly node: CachedNode;
  readonly object: JsonObject;
  readonly createdAt: Temporal.Instant;
  readonly selected: boolean;
  readonly identity?: Identified<Machine> | undefined;
};

const machineOf = ({ identity }: Seen): Machine | undefined => (identity !== undefined && 'found' in identity ? identity.found : undefined);

const createdAtOf = ({ metadata }: JsonObject): Temporal.Instant =>
  readTime(isObject(metadata) ? metadata['creationTimestamp'] : undefined) ?? Temporal.Instant.fromEpochMilliseconds(0);

const dueOf = (plan: Plan, { due }: PlanExpressions, seen: Seen, now: Temporal.Instant): CelResult => {
  const { object, createdAt } = seen;
  const said = due?.(object, now, machineOf(seen)) ?? true;
  const { dueAfterSeconds } = plan;
  const isYoung = dueAfterSeconds !== undefined && isBefore(now, secondsAfter(createdAt, dueAfterSeconds));
  return said === true && isYoung ? false : said;
};

const linkOf = ({ apiVersion, namespace, name, providerId }: Machine): MachineRef => ({
  apiVersion,
  namespace,
  name,
  instance: instanceOf(providerId) ?? name,
});

const planNodeOf = (plan: Plan, seen: Seen, expressions: PlanExpressions, now: Temporal.Instant): PlanNode => {
  const { node, object, createdAt, selected, identity } = seen;
  const machine = machineOf(seen);
  const due = dueOf(plan, expressions, seen, now);
  return {
    node,
    createdAt,
    selected,
    due,
    done: expressions.done?.(object, now, machine) ?? (expressions.due === undefined ? true : typeof due === 'boolean' ? !due : due),
    finished: expressions.finished?.(object, now, machine) ?? false,
    rank: expressions.rank?.(object, now, machine) ?? 0,
    ...(machine && { machine: linkOf(machine) }),
    ...(identity !== undefined && 'lack' in identity && { noMachine: identity.lack }),
  };
};

const otherOf = (plan: Plan, { selections }: SnapshotInputs): OtherPlan => {
  // The machine of one in flight may be gone, and its node with it: it is out until there is another.
  const { selected: free } = selections.of(plan);
  const selected = plan.inFlight.every(({ node }) => free.has(node)) ? free : new Set([...free, ...plan.inFlight.map(({ node }) => node)]);
  const most = unavailableLimit(plan.concurrency, selected.size);
  return { name: plan.name, selected, inFlight: plan.inFlight, ...(most !== undefined && { maxUnavailable: most }) };
};

/** Whether a plan looks at Machines: what it decides needs to know all of them. */
export const asksForMachines = ({ work }: Plan, { readsMachine }: PlanExpressions): boolean => work.kind === 'replace' || readsMachine;

/** Their nodes go with them. A Machine that is not proven to be one of our nodes takes none away. */
const deletedMachines = ({ machines, cache }: SnapshotInputs): readonly DeletedMachine[] =>
  [...machines.machines.values()].flatMap(machine => {
    if (!machine.deleting) return [];
    const node = cache.nodes.of(machine);
    return 'found' in node ? [{ name: machine.name, nodeName: node.found.name }] : [];
  });

/** The Machine that will be there when the node's turn comes: one that is being deleted is none. */
const identityOf = ({ machines }: SnapshotInputs, node: CachedNode): Identified<Machine> => {
  const machine = machines.machines.of(node);
  return 'found' in machine && machine.found.deleting
    ? { lack: `Machine ${machine.found.namespace}/${machine.found.name} of node ${node.name} is being deleted already` }
    : machine;
};

/** Where they are made, so that nobody without rights in that namespace can put one in their place. */
const replacementsOf = (plan: Plan, { machines, settings }: SnapshotInputs): PlanSnapshot['replacements'] => {
  if (plan.work.kind !== 'replace') return new Map();
  const { machineNamespace } = settings();
  return new Map([...machines.requests.values()].flatMap(one => (one.namespace === machineNamespace ? [[one.name, one] as const] : [])));
};

type Named = Pick<PlanSnapshot, 'children' | 'slices'>;

/** The nodes that the plan selects, and those that are named in what it has made and recorded. */
const nodesOf = (plan: Plan, inputs: SnapshotInputs, { children, slices }: Named, now: Temporal.Instant): PlanSnapshot['nodes'] => {
  const { cache, selections, expressionsOf } = inputs;
  const expressions = expressionsOf(plan);
  expressions.pool.begin(now);
  const asksForIdentity = asksForMachines(plan, expressions);
  const { matching } = selections.of(plan);
  const wanted = [
    ...plan.inFlight.map(({ node }) => node),
    ...[...children.values()].map(({ nodeName }) => nodeName),
    // The soak time of a stage watches its nodes, whatever labels they have by then.
    ...slices.flatMap(({ verdicts }) => verdicts.flatMap(({ node, verdict }) => (verdict === 'Done' ? node : []))),
  ];
  const found = new Map<string, PlanNode>();
  for (const name of new Set([...matching, ...wanted])) {
    const node = cache.nodes.get(name);
    if (node?.object === undefined) continue;
    const { object } = node;
    const identity = asksForIdentity ? identityOf(inputs, node) : undefined;
    const seen = { node, object, createdAt: createdAtOf(object), selected: matching.has(name), identity };
    found.set(name, planNodeOf(plan, seen, expressions, now));
  }
  return found;
};

const gateInputs = ({ cache, gateObjects, gateQueries }: SnapshotInputs): Parameters<typeof gateValues>[2] => ({
  budgets: () => cache.budgets.values(),
  objects: gateObjects,
  queries: gateQueries,
});

/** Its Maintenances, and those of others that have a name which it needs. */
const childrenOf = (plan: Plan, { cache }: SnapshotInputs): PlanSnapshot['children'] => {
  const needed = new Set(plan.inFlight.map(one => holdNameOf(plan, one)));
  const found = [...cache.requests.values()].filter(
    one => one.plan === plan.name || (needed.has(one.name) && one.adapter.kind === 'Maintenance'),
  );
  return new Map(found.map(request => [request.name, request]));
};

/** Those of its Maintenances that drain in another way than the plan has them. */
const changedAmong = (children: PlanSnapshot['children'], plan: Plan, { settings, drainPolicy }: SnapshotInputs): ReadonlySet<string> => {
  const wanted = drainPolicy(drainOf(plan, settings()));
  const changed = [...children.values()].filter(child => child.plan === plan.name && isChanged(child, wanted));
  return new Set(changed.map(({ name }) => name));
};

/** Its pods by name, and whatever else has a name that it has given to one: nobody but the plan knows those before they are made. */
const podsOf = ({ name, inFlight, preparing, hookRuns, rehearsal }: Plan, { plans }: SnapshotInputs): PlanSnapshot['pods'] => {
  const tasks = [...inFlight, ...preparing, ...hookRuns, ...(rehearsal ? [rehearsal] : [])];
  const named = tasks.flatMap(({ pod }) => (pod === undefined ? [] : (plans.pods.get(`${plans.workNamespace}/${pod}`) ?? [])));
  return new Map([...named, ...plans.pods.in(name)].map(pod => [pod.name, pod]));
};

const recordsOf = (others: readonly Plan[], { plans }: SnapshotInputs): readonly OtherRecords[] =>
  others.map(({ name, uid }) => ({ name, slices: plans.records.in(uid) }));

/** Everything that is known about one plan at this moment. */
export const takePlanSnapshot = (plan: Plan, inputs: SnapshotInputs, now: Temporal.Instant): PlanSnapshot => {
  const { plans, cache, settings, ownNode } = inputs;
  const children = childrenOf(plan, inputs);
  const records = sortRecords(plans.records.in(plan.uid), plan.run ?? { id: plan.runId, revision: plan.revision });
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
};
