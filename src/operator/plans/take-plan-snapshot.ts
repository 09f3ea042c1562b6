import { isObject, type JsonObject } from '../../core/json.ts';
import { instanceOf, type Machine } from '../../core/machine/machine.ts';
import { mostUnavailable } from '../../core/plan/amount.ts';
import { outagesOf } from '../../core/plan/ledger.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { sortRecords } from '../../core/plan/records.ts';
import type { MachineLink, OtherPlan, PlanNode, PlanSettings, PlanSnapshot, Said } from '../../core/plan/snapshot.ts';
import { childNameOf } from '../../core/plan/writes.ts';
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
  readonly ownNode?: string;
};

/** A node, what expressions see of it, and its Machine, where the plan asks for it. */
type Seen = {
  readonly node: CachedNode;
  readonly object: JsonObject;
  readonly createdAt: Temporal.Instant;
  readonly selected: boolean;
  readonly machine?: Machine | undefined;
};

const createdAtOf = ({ metadata }: JsonObject): Temporal.Instant =>
  readTime(isObject(metadata) ? metadata['creationTimestamp'] : undefined) ?? Temporal.Instant.fromEpochMilliseconds(0);

const dueOf = (plan: Plan, { due }: PlanExpressions, { object, createdAt, machine }: Seen, now: Temporal.Instant): Said => {
  const said = due?.(object, now, machine) ?? true;
  const { dueAfterSeconds } = plan;
  const isYoung = dueAfterSeconds !== undefined && isBefore(now, secondsAfter(createdAt, dueAfterSeconds));
  return said === true && isYoung ? false : said;
};

const linkOf = ({ apiVersion, namespace, name, providerId }: Machine): MachineLink => ({
  apiVersion,
  namespace,
  name,
  instance: instanceOf(providerId) ?? name,
});

const planNodeOf = (plan: Plan, seen: Seen, expressions: PlanExpressions, now: Temporal.Instant): PlanNode => {
  const { node, object, createdAt, selected, machine } = seen;
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
  };
};

/** Plans that are over limit nobody. */
const isOver = ({ status, inFlight }: Plan): boolean =>
  inFlight.length === 0 && (status['phase'] === 'Complete' || status['phase'] === 'Aborted');

const otherOf = (plan: Plan, { selections }: SnapshotInputs): OtherPlan => {
  // The machine of one in flight may be gone, and its node with it: it is out until there is another.
  const { selected: free } = selections.of(plan);
  const selected = plan.inFlight.every(({ node }) => free.has(node)) ? free : new Set([...free, ...plan.inFlight.map(({ node }) => node)]);
  const most = mostUnavailable(plan.concurrency, selected.size);
  return { name: plan.name, selected, inFlight: plan.inFlight, ...(most !== undefined && { maxUnavailable: most }) };
};

/** Whether a plan looks at Machines: what it decides needs to know all of them. */
export const asksForMachines = ({ work }: Plan, { readsMachine }: PlanExpressions): boolean => work.kind === 'replace' || readsMachine;

const machinesByNode = ({ machines }: SnapshotInputs): ReadonlyMap<string, Machine> =>
  new Map(
    [...machines.machines.values()].flatMap((machine): [string, Machine][] =>
      machine.nodeName === undefined || machine.deleting ? [] : [[machine.nodeName, machine]],
    ),
  );

/** Where they are made, so that nobody without rights in that namespace can put one in their place. */
const replacementsOf = (plan: Plan, { machines, settings }: SnapshotInputs): PlanSnapshot['replacements'] => {
  if (plan.work.kind !== 'replace') return new Map();
  const { machineNamespace } = settings();
  return new Map([...machines.requests.values()].flatMap(one => (one.namespace === machineNamespace ? [[one.name, one] as const] : [])));
};

const nodesOf = (plan: Plan, inputs: SnapshotInputs, children: PlanSnapshot['children'], now: Temporal.Instant): PlanSnapshot['nodes'] => {
  const { cache, selections, expressionsOf } = inputs;
  const expressions = expressionsOf(plan);
  expressions.pool.begin(now);
  const machines = asksForMachines(plan, expressions) ? machinesByNode(inputs) : undefined;
  const { matching } = selections.of(plan);
  const wanted = [...plan.inFlight.map(({ node }) => node), ...[...children.values()].map(({ nodeName }) => nodeName)];
  const found = new Map<string, PlanNode>();
  for (const name of new Set([...matching, ...wanted])) {
    const node = cache.nodes.get(name);
    if (node?.object === undefined) continue;
    const { object } = node;
    const selected = matching.has(name);
    found.set(
      name,
      planNodeOf(plan, { node, object, createdAt: createdAtOf(object), selected, machine: machines?.get(name) }, expressions, now),
    );
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
  const needed = new Set(plan.inFlight.map(({ uid }) => childNameOf(plan, uid)));
  const found = [...cache.requests.values()].filter(
    one => one.plan === plan.name || (needed.has(one.name) && one.adapter.kind === 'Maintenance'),
  );
  return new Map(found.map(request => [request.name, request]));
};

/** Everything that is known about one plan at this moment. */
export const takePlanSnapshot = (plan: Plan, inputs: SnapshotInputs, now: Temporal.Instant): PlanSnapshot => {
  const { plans, cache, machines, settings, ownNode } = inputs;
  const children = childrenOf(plan, inputs);
  const { halted } = plans;
  return {
    plan,
    nodes: nodesOf(plan, inputs, children, now),
    outages: outagesOf({
      nodes: cache.nodes.values(),
      requests: cache.requests.values(),
      plans: plans.plans.values(),
      machines: machines.machines.values(),
    }),
    children,
    replacements: replacementsOf(plan, inputs),
    pods: new Map(plans.pods.in(plan.name).map(pod => [pod.name, pod])),
    ...sortRecords(plans.records.in(plan.uid), plan.run ?? { id: plan.runId, revision: plan.revision }),
    gates: gateValues(plan, inputs.expressionsOf(plan), gateInputs(inputs), now),
    approvals: plans.approvals.in(plan.name),
    others: [...plans.plans.values()].filter(other => other.name !== plan.name && !isOver(other)).map(other => otherOf(other, inputs)),
    members: membersOf(cache.nodes.controlPlane),
    windows: [...cache.windows.values()],
    windowsProblem: cache.knownWindows.problemFor(plan),
    settings: settings(),
    ...(ownNode !== undefined && { ownNode }),
    ...(halted !== undefined && { halted }),
  };
};
