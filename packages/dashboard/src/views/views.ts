import { timeText } from '@drydock/apimachinery';
import {
  type BlockerSummary,
  type Budget,
  budgetBlockerInfo,
  drainBehaviorOf,
  needsHelp,
  neverAllows,
  seedPolicy,
} from '@drydock/core/drain';
import {
  byUrgency,
  instanceOf,
  isOver,
  type MachineEvent,
  type MachineRequest,
} from '@drydock/core/machine';
import {
  blockersNow,
  type DrainInputs,
  filterContextOf,
  storedVms,
} from '@drydock/core/maintenance';
import { conditionOf, type Node, taintId } from '@drydock/core/node';
import { isDaemonSetPod, isFinished, isTerminating, type Pod } from '@drydock/core/pod';
import {
  drainRequest,
  endsOf,
  isDraining,
  type MaintenanceRequest,
  messageOf,
  phaseOf,
} from '@drydock/core/request';
import type { MaintenanceWindow } from '@drydock/core/window';
import type {
  AnnouncedView,
  BlockerView,
  BudgetView,
  DrainPreview,
  HoldView,
  MachineView,
  NodeSummary,
  PodPhase,
  PodView,
  WindowView,
} from '../scene.ts';

/** Views of single objects, as pure functions. */

const zoneLabels = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'];
const roleLabel = 'node-role.kubernetes.io/';

/** Taint that Kubernetes puts on every cordoned node: it adds nothing to the cordon. */
const ofEveryCordon = 'node.kubernetes.io/unschedulable:NoSchedule';

/** Labels by which platforms name a node's pool. */
const poolLabels = [
  'cloud.google.com/gke-nodepool',
  'eks.amazonaws.com/nodegroup',
  'kubernetes.azure.com/agentpool',
  'karpenter.sh/nodepool',
  'hypershift.openshift.io/nodePool',
  'doks.digitalocean.com/node-pool',
];
/** Annotation of Cluster API on nodes: the MachineSet, or other owner of the machine. */
const machineOwner = 'cluster.x-k8s.io/owner-name';

function rolesOf({ labels }: Node): readonly string[] {
  return Object.keys(labels)
    .flatMap(label => (label.startsWith(roleLabel) ? [label.slice(roleLabel.length)] : []))
    .sort();
}

/** Returns the pool; where none is named, nodes with the same roles count as one. */
function poolOf(node: Node): string {
  return (
    poolLabels.map(label => node.labels[label]).find(pool => pool !== undefined) ??
    node.annotations[machineOwner] ??
    rolesOf(node).join(', ')
  );
}

const readiness: Readonly<Record<string, NodeSummary['ready']>> = { True: 'yes', False: 'no' };

function instanceView(node: Node): Pick<NodeSummary, 'instance'> {
  const instance = instanceOf(node.providerId);
  return instance === undefined ? {} : { instance };
}

export function nodeView(
  node: Node,
  holds: readonly HoldView[],
  plan: string | undefined,
): NodeSummary {
  return {
    key: node.name,
    zone: zoneLabels.map(label => node.labels[label]).find(zone => zone !== undefined) ?? '',
    pool: poolOf(node),
    ...(plan !== undefined && { plan }),
    roles: rolesOf(node),
    ready: readiness[conditionOf(node, 'Ready')?.status ?? ''] ?? 'unknown',
    cordoned: node.unschedulable,
    taints: node.taints.map(taintId).filter(id => id !== ofEveryCordon),
    holds,
    ...instanceView(node),
  };
}

/**
 * Returns the view of a node that is gone, or has never existed, but is named by a maintenance. A
 * node that is being replaced stays in its zone.
 */
export function missingNodeView(
  name: string,
  holds: readonly HoldView[],
  replaced: boolean,
  zone: string,
): NodeSummary {
  return {
    key: name,
    zone,
    pool: '',
    roles: [],
    ready: 'unknown',
    cordoned: false,
    taints: [],
    holds,
    missing: true,
    ...(replaced && { replaced }),
  };
}

function blockerView(blocker: BlockerSummary): BlockerView {
  return {
    ...blocker,
    // The words are the core's own: they come from a status that the operator wrote.
    stuck: needsHelp({ reason: blocker.reason, message: blocker.message } as Parameters<
      typeof needsHelp
    >[0]),
  };
}

export function holdView(
  request: MaintenanceRequest,
  blockers: readonly BlockerSummary[],
): HoldView {
  const { adapter, history, namespace, reason, requester } = request;
  const ends = endsOf(request);
  const vms = storedVms(request);
  return {
    store: adapter.name,
    kind: adapter.kind,
    ...(namespace !== undefined && { namespace }),
    name: request.name,
    phase: phaseOf(request),
    level: request.level,
    ...(reason !== undefined && reason !== '' && { reason }),
    ...(requester !== undefined && requester !== '' && { requester }),
    ...(request.plan !== undefined && { plan: request.plan }),
    since: timeText(request.createdAt),
    toEvict: history.toEvict,
    gone: history.gone,
    message: messageOf(request),
    ...(ends !== '' && { ends }),
    draining: isDraining(request),
    drained: !request.deleting && history.state === 'Drained',
    failed: !request.deleting && history.state === 'Failed',
    deleting: request.deleting,
    blockers: blockers.map(blockerView),
    ...(vms && { vms }),
  };
}

/** Returns the phase of a pod. */
export function podPhase(pod: Pod): PodPhase {
  if (isTerminating(pod)) return 'leaving';
  if (isFinished(pod)) return 'done';
  if (pod.nodeName === '') return 'pending';
  return pod.ready ? 'running' : 'starting';
}

/**
 * Returns the workload. A ReplicaSet of a Deployment is named after it and the hash of its
 * template: users know the Deployment.
 */
export function workloadOf({
  owner,
  labels,
  name,
  namespace,
}: Pod): Pick<PodView, 'kind' | 'workload'> {
  if (owner === undefined) return { kind: 'Pod', workload: `${namespace}/${name}` };
  const ending = `-${labels['pod-template-hash'] ?? ''}`;
  if (owner.kind === 'ReplicaSet' && ending !== '-' && owner.name.endsWith(ending)) {
    return { kind: 'Deployment', workload: `${namespace}/${owner.name.slice(0, -ending.length)}` };
  }
  return { kind: owner.kind, workload: `${namespace}/${owner.name}` };
}

export function podView(pod: Pod): PodView {
  return {
    key: pod.key,
    uid: pod.uid,
    node: pod.nodeName,
    ...workloadOf(pod),
    phase: podPhase(pod),
    stays: isDaemonSetPod(pod) || pod.mirror,
    localData: pod.localData,
  };
}

/** Returns the budget's problem, in the words for a blocked pod, but without a pod. */
function budgetTrouble(budget: Budget): BudgetView['trouble'] {
  const isHelpless = budget.syncFailure !== undefined || neverAllows(budget);
  const isShort = budget.fresh && budget.currentHealthy < budget.desiredHealthy;
  if (!isHelpless && !isShort) return undefined;
  const { message, remedy } = budgetBlockerInfo(
    { namespace: budget.namespace, name: '' } as Pod,
    budget,
  );
  return { message, ...(remedy !== undefined && { remedy }) };
}

export function budgetView(budget: Budget): BudgetView {
  const trouble = budgetTrouble(budget);
  return {
    key: budget.key,
    allowed: budget.fresh && budget.syncFailure === undefined ? budget.disruptionsAllowed : 0,
    healthy: budget.currentHealthy,
    desired: budget.desiredHealthy,
    pods: budget.expectedPods,
    ...(trouble && { trouble }),
  };
}

/** Views of machine maintenances and windows, as pure functions of the objects. */

/** Limit of shown events; no user reads a longer list. */
const maxAnnounced = 8;

/**
 * Removes duplicates: two sources may announce the same event, which is shown once, as the more
 * urgent of them.
 */
function once(events: readonly MachineEvent[]): readonly MachineEvent[] {
  const seen = new Set<string>();
  return events.filter(({ provider, id }) => {
    const name = `${provider} ${id}`;
    if (seen.has(name)) return false;
    seen.add(name);
    return true;
  });
}

function announcedView({
  provider,
  kind,
  state,
  description,
  deadline,
  notBefore,
}: MachineEvent): AnnouncedView {
  const at = deadline ?? notBefore;
  return {
    provider,
    kind,
    state,
    ...(description !== undefined && description !== '' && { description }),
    ...(at && { at: timeText(at) }),
  };
}

/** Returns a field of a status that the operator has written. */
function textIn(
  { status }: { readonly status: Readonly<Record<string, unknown>> },
  name: string,
): string | undefined {
  const value = status[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function machineView(request: MachineRequest): MachineView {
  const { key, machineName, history, nodeName, events } = request;
  const node = history.nodeName ?? nodeName;
  const phase = history.phase ?? 'Pending';
  const strategy = history.strategy ?? request.strategy;
  const [waitingFor, begins, deadline] = ['waitingFor', 'scheduledTime', 'deadline'].map(name =>
    textIn(request, name),
  );
  return {
    key,
    machine: machineName,
    phase,
    over: isOver(phase),
    deleting: request.deleting,
    message: textIn(request, 'message') ?? '',
    since: timeText(request.createdAt),
    announced: once(events.toSorted(byUrgency)).slice(0, maxAnnounced).map(announcedView),
    ...(node !== undefined && { node }),
    ...(strategy && { strategy }),
    ...(waitingFor !== undefined && { waitingFor }),
    ...(begins !== undefined && { begins }),
    ...(deadline !== undefined && { deadline }),
  };
}

/**
 * Returns the view of a window. Its state comes from the operator's status, so that all users see
 * the same.
 */
export function windowView({ name, problem, status }: MaintenanceWindow): WindowView {
  const { open, next } = status as {
    readonly open?: boolean;
    readonly next?: { readonly startTime: string; readonly endTime: string };
  };
  const until = open === true ? next?.endTime : next?.startTime;
  return {
    key: name,
    ...(open !== undefined && { open }),
    ...(until !== undefined && { until }),
    ...(problem !== undefined && { problem }),
  };
}

/** Returns a preview of a drain. */
export function outlookOf(
  node: string,
  drainInputs: DrainInputs,
  choice: { readonly force: boolean; readonly deleteEmptyDirData: boolean },
  now: Temporal.Instant,
): DrainPreview {
  const imagined = drainRequest(node, { ...seedPolicy, ...choice }, now);
  const filterContext = filterContextOf({ nodeName: node, ...drainInputs }, now);
  const drainBehaviors = drainInputs.pods.map(
    pod => drainBehaviorOf(pod, imagined.policy, filterContext).behavior,
  );
  const stay = drainBehaviors.filter(behavior => behavior === 'ignore').length;
  return {
    leave: drainBehaviors.length - stay,
    stay,
    blockers: blockersNow(imagined, drainInputs, now).map(blockerView),
  };
}
