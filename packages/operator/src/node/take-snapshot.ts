import type { PlanWork } from '@drydock/core/drain';
import type { LeaseTerms } from '@drydock/core/lease';
import type { NodeSnapshot, Self } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import type { Pod } from '@drydock/core/pod';
import { etcdNamespace, isControlPlane, membersOf } from '@drydock/core/quorum';
import { type KindAdapter, leaseKey, leaseNames } from '@drydock/core/request';
import type { Hypervisors } from '@drydock/core/vm';
import type { Clock } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { OwnProcess } from '../cache/operator-replicas.ts';
import type { Evictor } from '../evict/evictor.ts';
import type { InFlightEvictions } from '../evict/in-flight-evictions.ts';
import type { LookupCache } from './lookup-cache.ts';
import type { NodeStates } from './node-states.ts';
import { maxDrain } from './overview.ts';

/** Options that do not change while the operator runs. */
export type SnapshotOptions = {
  readonly adapters: readonly KindAdapter[];
  readonly terms: LeaseTerms;
  /**
   * Pod of this process (`namespace/name`), and the hand-over to another replica before the pod is
   * evicted.
   */
  readonly self?: OwnProcess & {
    readonly handOver: () => void;
    /** Returns whether no replica has begun to lead although this process handed over. */
    readonly handedOver: () => boolean;
  };
  /** True if etcd's own operator guards its members here. */
  readonly openShift?: boolean;
  /** Mode of EvictionRequests to the responders that pods name; Never if left out. */
  readonly evictionRequests?: 'Auto' | 'Never';
  /** Hypervisors of OpenStack; not configured if left out. */
  readonly hypervisors?: Hypervisors;
  /** Work of plans on the node; plans are not watched if left out. */
  readonly planWork?: (nodeName: string) => PlanWork;
};

/** Sources of the snapshots. */
type SnapshotSources = {
  readonly cache: ClusterCache;
  readonly nodeStates: NodeStates;
  readonly evictor: Evictor;
  readonly inFlight: InFlightEvictions;
  readonly lookedUp: LookupCache;
  readonly clock: Clock;
  readonly options: SnapshotOptions;
};

function quorumOf(
  node: Node | undefined,
  { cache, nodeStates, options }: SnapshotSources,
): Pick<NodeSnapshot, 'quorum'> {
  if (node === undefined || !isControlPlane(node)) return {};
  const members = membersOf(cache.nodes.controlPlane);
  const seats = members
    .map(({ name }) => name)
    .filter(name => name !== node.name && nodeStates.of(name).notes.seat);
  const etcdBudgets =
    options.openShift === true ? { etcdBudgets: cache.budgets.in(etcdNamespace) } : {};
  return { quorum: { members, seats: new Set(seats), ...etcdBudgets } };
}

function leasesOf(nodeName: string, { cache, options }: SnapshotSources): NodeSnapshot['leases'] {
  const leases = leaseNames(options.adapters, nodeName).map(name =>
    cache.leases.get(leaseKey(name)),
  );
  return new Map(leases.flatMap(lease => (lease ? [[lease.key, lease] as const] : [])));
}

type WindowParts = Pick<NodeSnapshot, 'windows' | 'windowsKnownTo' | 'windowsProblem'>;

function windowsOf(
  requests: NodeSnapshot['requests'],
  { cache: { windows, knownWindows } }: SnapshotSources,
): WindowParts {
  return {
    windows: [...windows.values()],
    windowsKnownTo: new Set(
      requests.filter(request => knownWindows.areKnownTo(request)).map(({ uid }) => uid),
    ),
    ...(knownWindows.problem !== undefined && { windowsProblem: knownWindows.problem }),
  };
}

/** Returns the VMs of the node, KubeVirt's and those of its hypervisor, as far as known. */
function vmsOf(
  nodeName: string,
  pods: NodeSnapshot['pods'],
  { cache, nodeStates, options }: SnapshotSources,
): Pick<NodeSnapshot, 'vms' | 'host'> {
  const vms = cache.vms.of(
    nodeName,
    pods ?? [],
    new Set(nodeStates.of(nodeName).notes.vms?.vms.keys()),
  );
  const host = options.hypervisors?.of(nodeName);
  return { ...(vms && { vms }), ...(host !== undefined && { host }) };
}

/** Returns the responders and EvictionRequests of a node. */
function evictionsOf(
  node: Node | undefined,
  nodeName: string,
  pods: readonly Pod[] | undefined,
  { cache: { lifecycleEvictions }, options, clock }: SnapshotSources,
): Pick<NodeSnapshot, 'responders' | 'evictionRequests'> {
  const own = lifecycleEvictions.requestsOf(nodeName);
  const responders = lifecycleEvictions.of([
    ...(pods ?? []),
    ...[...own.values()].map(({ namespace, podUid }) => ({ namespace, uid: podUid })),
  ]);
  const areAnswered = lifecycleEvictions.areAnswered(clock.now());
  const evictionRequests = {
    mode: options.evictionRequests ?? 'Never',
    areAnswered,
    own,
    ...(node && { node }),
  };
  return {
    ...(responders.size > 0 && { responders }),
    ...((areAnswered || own.size > 0) && { evictionRequests }),
  };
}

function selfOn(
  nodeName: string,
  { pod, handedOver }: NonNullable<SnapshotOptions['self']>,
  cache: ClusterCache,
): Self {
  return {
    pod,
    handedOver: handedOver(),
    ...cache.operatorReplicas.view(nodeName),
  };
}

/** Takes the snapshot of a node: everything known about it at this moment. */
export function snapshots(snapshotSources: SnapshotSources) {
  return (nodeName: string): NodeSnapshot => {
    const { cache, nodeStates, evictor, inFlight, lookedUp, options } = snapshotSources;
    const { adapters, terms, self, planWork } = options;
    const node = cache.nodes.get(nodeName);
    const pods = cache.pods.of(nodeName);
    const requests = cache.requests.in(nodeName);
    const { notes, trouble = cache.pods.problemOf(nodeName) } = nodeStates.of(nodeName);
    const { daemonSetNames } = cache;
    const attachments = cache.attachmentsOf(nodeName);
    const budgets = cache.budgetIndex.over(pods ?? []);
    return {
      nodeName,
      requests,
      podsConfirmed: cache.pods.isConfirmed(nodeName),
      budgets,
      leases: leasesOf(nodeName, snapshotSources),
      volumes: lookedUp.volumes,
      goneDaemonSets: lookedUp.goneDaemonSets,
      unscheduled: lookedUp.unscheduled,
      attempts: evictor.attemptsOf(nodeName),
      inFlight: inFlight.about(nodeName, budgets),
      memo: notes,
      adapters,
      missingKinds: cache.missingKinds,
      terms,
      ...windowsOf(requests, snapshotSources),
      ...(cache.windows.size > 0 && maxDrain(cache.requests.values())),
      ...quorumOf(node, snapshotSources),
      ...vmsOf(nodeName, pods, snapshotSources),
      ...evictionsOf(node, nodeName, pods, snapshotSources),
      ...(planWork && { planWork: planWork(nodeName) }),
      ...(self && { self: selfOn(nodeName, self, cache) }),
      ...(node && { node }),
      ...(pods && { pods }),
      ...(attachments && { attachments }),
      ...(daemonSetNames && { daemonSets: daemonSetNames }),
      ...(trouble && { trouble }),
    };
  };
}
