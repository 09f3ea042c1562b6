import { isMissing, pathSegment } from '@drydock/apimachinery';
import type { PlanWork } from '@drydock/core/drain';
import type { LeaseTerms } from '@drydock/core/lease';
import type { Lookup, NodeSnapshot, Self } from '@drydock/core/maintenance';
import type { Node } from '@drydock/core/node';
import { findsNoNode, onNoNode, type Pod, readPod } from '@drydock/core/pod';
import { etcdNamespace, isControlPlane, membersOf } from '@drydock/core/quorum';
import { type KindAdapter, leaseKey, leaseNames } from '@drydock/core/request';
import type { Hypervisors } from '@drydock/core/vm';
import { type Api, type ApiResponse, vitalGet } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { OwnProcess } from '../cache/node-cache.ts';
import type { WindowFreshness } from '../cache/window-freshness.ts';
import type { Evictor } from '../evict/evictor.ts';
import type { InFlightEvictions } from '../evict/in-flight-evictions.ts';
import { maxDrain, type NodeStates } from './node-states.ts';

/** A cache of lookup results: nearly all of them do not change any more. */
export class LookupCache {
  /**
   * Volume by claim (`namespace/name`): a bound claim stays bound to its volume. null: the claim
   * does not exist, or is not bound.
   */
  readonly volumes = new Map<string, string | null>();
  /**
   * uids of DaemonSets that pods name and that are gone: no other DaemonSet will ever have them.
   */
  readonly goneDaemonSets = new Set<string>();
  /** Pods that are on no node, by namespace, and the time of the list. */
  readonly unscheduled = new Map<
    string,
    { readonly readAt: Temporal.Instant; readonly pods: readonly Pod[] }
  >();
}

/** A lookup of one object. */
type ObjectLookup = Extract<Lookup, { readonly kind: 'DaemonSet' | 'PersistentVolumeClaim' }>;

/** Splits a key: no namespace has a `/` in it, but a name in a reference may have. */
function partsOf(key: string): readonly [namespace: string, name: string] {
  const cut = key.indexOf('/');
  return [key.slice(0, cut), key.slice(cut + 1)];
}

function pathOf({ kind, key }: ObjectLookup): string {
  const [namespace, name] = partsOf(key).map(pathSegment);
  const [api, resource] =
    kind === 'DaemonSet' ? ['/apis/apps/v1', 'daemonsets'] : ['/api/v1', 'persistentvolumeclaims'];
  return `${api}/namespaces/${namespace}/${resource}/${name}`;
}

/**
 * Stores the result. Returns whether it is final: a DaemonSet that exists is delivered by the
 * watch.
 */
function note(
  lookup: ObjectLookup,
  found: ApiResponse,
  { volumes, goneDaemonSets }: LookupCache,
): boolean {
  if (lookup.kind === 'DaemonSet') {
    if (found.status !== 404) return false;
    goneDaemonSets.add(lookup.uid);
    return true;
  }
  const { spec } = found.body as { readonly spec?: { readonly volumeName?: string } };
  volumes.set(lookup.key, (found.status === 200 && spec?.volumeName) || null);
  return true;
}

type Sources = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly lookedUp: LookupCache;
  readonly knownWindows: WindowFreshness;
};

async function lookUpObject(
  { api, log, lookedUp }: Sources,
  lookup: ObjectLookup,
): Promise<boolean> {
  const { kind, key } = lookup;
  const path = pathOf(lookup);
  const found = await vitalGet(api, path, error =>
    log.warn('failed to look up an object', { kind, key, error }),
  );
  if (found === undefined) return false;
  if (found.status === 200 || isMissing(partsOf(key)[1], found))
    return note(lookup, found, lookedUp);
  log.warn('failed to look up an object', { kind, key, status: found.status });
  return false;
}

/**
 * Number of pods of one namespace that are kept: pods without a node are few, or too many to be
 * read one by one.
 */
const maxPods = 100;

/** Milliseconds until the node is passed again even without a response. */
const strayTimeoutMs = 3000;

/**
 * Lists pods that are on no node. Without the right, or if the server fails, the result is empty:
 * the report only has fewer details on what a budget misses.
 */
async function lookUpUnscheduled(
  { api, clock, log, defects, lookedUp }: Sources,
  namespace: string,
): Promise<boolean> {
  const path = `/api/v1/namespaces/${pathSegment(namespace)}/pods`;
  const readAt = clock.now();
  let pods: readonly Pod[] = [];
  try {
    const found = await api.call({
      method: 'GET',
      path,
      query: { ...onNoNode, limit: 500 },
      priority: 'bulk',
      timeoutMs: strayTimeoutMs,
    });
    const { items = [] } = (found.status === 200 ? found.body : {}) as {
      readonly items?: readonly unknown[];
    };
    pods = items.map(readPod).filter(findsNoNode);
    if (found.status !== 200)
      log.warn('failed to read the pods that are on no node', { namespace, status: found.status });
  } catch (error) {
    log.warn('failed to read the pods that are on no node', {
      namespace,
      error: defects.textOf('Node', path, error),
    });
  }
  lookedUp.unscheduled.set(namespace, { readAt, pods: pods.slice(0, maxPods) });
  return true;
}

function lookUpOne(sources: Sources, lookup: Lookup): Promise<boolean> {
  if (lookup.kind === 'MaintenanceWindows') return sources.knownWindows.find(lookup);
  return lookup.kind === 'UnscheduledPods'
    ? lookUpUnscheduled(sources, lookup.key)
    : lookUpObject(sources, lookup);
}

/**
 * Resolves the lookups with the API server, one after the other. Returns whether anything new is
 * known. Rejects for defects only.
 */
export async function runLookups(sources: Sources, lookups: readonly Lookup[]): Promise<boolean> {
  let isNew = false;
  for (const lookup of lookups) {
    isNew = (await lookUpOne(sources, lookup)) || isNew;
  }
  return isNew;
}

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
