import { isMissing, pathSegment, secondsBetween } from '@drydock/apimachinery';
import {
  type ConcurrentMaintenance,
  childDrain,
  childName,
  instanceOf,
  isAgentsOwn,
  isCalled,
  isOver,
  isPending,
  isResponse,
  isSameProviderId,
  type Machine,
  type MachineAdapter,
  type MachineDecision,
  type MachineLimits,
  type MachineRequest,
  type MachineSet,
  type MachineSnapshot,
  type MachineStrategy,
  nodeNameOf,
  pauseOf,
  type ReplacementSet,
  type UnreadyMachine,
} from '@drydock/core/machine';
import { isChanged } from '@drydock/core/maintenance';
import { conditionOf, isReady, type Node, transitionTimeOf } from '@drydock/core/node';
import { type Api, vitalGet } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { MachineCache } from './machine-cache.ts';

/** Gathers the facts about one machine maintenance. */

/** Longest chain of owners that is followed: Machine, MachineSet, MachineDeployment. */
const maxChain = 3;

/** Returns the known owners of a machine, from the nearest to the uppermost. */
function setsOf(
  { sets }: MachineCache,
  { api, namespace, owner }: Pick<Machine, 'api' | 'namespace' | 'owner'>,
): readonly MachineSet[] {
  const found: MachineSet[] = [];
  let next = owner;
  while (found.length < maxChain && next !== undefined) {
    const set = sets.get(`${api}/${next.kind}/${namespace}/${next.name}`);
    if (set?.uid !== next.uid) break;
    found.push(set);
    next = set.owner;
  }
  return found;
}

/** Returns the uppermost known owner, which would create another machine when this one is gone. */
function setOf(machines: MachineCache, machine: Machine): MachineSet | undefined {
  return setsOf(machines, machine).at(-1);
}

/** Machine and Node of a request, as far as their identity is proven. */
export type Subject = Pick<MachineSnapshot, 'machine' | 'node' | 'unidentified'>;

/** Reports whether the providerID is consistent with the instance; a missing or unknown one is. */
function isCalledSo(providerId: string | undefined, instance: string): boolean {
  return (
    providerId === undefined ||
    instanceOf(providerId) === undefined ||
    isCalled(providerId, instance)
  );
}

/**
 * Reports whether the Machine is the one that the request names: its name in the cloud is as in the
 * request, and it is still the one that the work began with.
 */
function isNamed(
  { uid, name, providerId }: Machine,
  { instance, history }: MachineRequest,
): boolean {
  if (history.machineUid !== undefined) return history.machineUid === uid;
  return instance === '' || instance === name || isCalledSo(providerId, instance);
}

/**
 * Returns the Machine that the request names; the only one of that name if the request names no
 * namespace.
 */
function machineOf({ machines }: MachineCache, request: MachineRequest): Machine | undefined {
  if (request.nodeOnly) return undefined;
  const named = machines.in(request.machineName).filter(machine => isNamed(machine, request));
  const { machineNamespace } = request;
  if (machineNamespace !== undefined)
    return named.find(({ namespace }) => namespace === machineNamespace);
  return named.length > 1
    ? named.find(
        ({ providerId }) => providerId !== undefined && isCalled(providerId, request.instance),
      )
    : named[0];
}

/**
 * Reports whether a node is the machine that the request names: without a Machine, nothing else
 * distinguishes it from a successor of its name.
 */
function isNamedNode(
  { name, providerId }: Node,
  { instance, machineName }: MachineRequest,
): boolean {
  return (
    instance === '' ||
    instance === name ||
    instance === machineName ||
    isCalledSo(providerId, instance)
  );
}

/** Returns the subject of a request about a node, or about a machine that is gone. */
function subjectWithoutMachine(
  request: MachineRequest,
  machines: MachineCache,
  cache: ClusterCache,
): Subject {
  const nodeName = nodeNameOf(request, undefined);
  const node = nodeName === undefined ? undefined : cache.nodes.get(nodeName);
  if (node === undefined || !isNamedNode(node, request)) return {};
  const machine = request.nodeOnly ? machines.machines.of(node) : undefined;
  return { node, ...(machine && 'lack' in machine && { unidentified: machine.lack }) };
}

/**
 * Returns the Machine and the Node of a request. A Machine that names a node of another identity
 * has no known node, and `unidentified` has the reason.
 */
export function subjectOf(
  request: MachineRequest,
  machines: MachineCache,
  cache: ClusterCache,
): Subject {
  const machine = machineOf(machines, request);
  if (machine === undefined) return subjectWithoutMachine(request, machines, cache);
  const found = cache.nodes.of(machine);
  if ('found' in found)
    return { machine: { ...machine, nodeName: found.found.name }, node: found.found };
  const { nodeName: _named, ...nodeless } = machine;
  const named = nodeNameOf(request, machine);
  const isElsewhere = named === undefined || cache.nodes.get(named) === undefined;
  return isElsewhere && found.isNear !== true
    ? { machine }
    : { machine: nodeless, unidentified: found.lack };
}

/**
 * Reports whether the Machine serves. If this cluster does not have its node, the node belongs to
 * another cluster: the status of the machine API has to suffice.
 */
function isServing(machine: Machine, { nodes }: ClusterCache): boolean {
  if (machine.deleting) return false;
  const node = nodes.of(machine);
  if ('found' in node) return isReady(node.found);
  return (
    machine.nodeName !== undefined && nodes.get(machine.nodeName) === undefined && machine.available
  );
}

function unreadyOf(machine: Machine, { nodes }: ClusterCache): UnreadyMachine {
  const node = nodes.of(machine);
  const ready = 'found' in node ? conditionOf(node.found, 'Ready') : undefined;
  const since = ready && transitionTimeOf(ready);
  return { machine, ...(since && { since }) };
}

function replacementOf(
  machines: MachineCache,
  cache: ClusterCache,
  set: MachineSet | undefined,
): ReplacementSet | undefined {
  if (set === undefined) return undefined;
  const members = [...machines.machines.values()].filter(
    machine => setOf(machines, machine)?.key === set.key,
  );
  const others = members.filter(machine => !isServing(machine, cache));
  const unready = others
    .filter(({ deleting }) => !deleting)
    .map(machine => unreadyOf(machine, cache));
  return { set, members, ready: members.length - others.length, unready };
}

function otherOf(machines: MachineCache, request: MachineRequest): ConcurrentMaintenance {
  const machine = machineOf(machines, request);
  const set = request.history.set ?? (machine && setOf(machines, machine)?.key);
  return {
    key: request.key,
    active: request.history.startedAt !== undefined && !isOver(request.history.phase),
    responds: isResponse(request),
    controlPlane: machine?.controlPlane ?? false,
    undrained: new Set(
      request.history.phase === 'Drained'
        ? []
        : request.events.filter(isPending).map(({ id }) => id),
    ),
    ...(set !== undefined && { set }),
    ...(machine?.zone !== undefined && { zone: machine.zone }),
  };
}

/** Returns the seconds that the existing maintenances have taken: the longest of each strategy. */
function seenOf(requests: Iterable<MachineRequest>): ReadonlyMap<MachineStrategy, number> {
  const seen = new Map<MachineStrategy, number>();
  for (const { history } of requests) {
    const { startedAt, drainedAt, completedAt, strategy } = history;
    const end = strategy === 'Drain' ? drainedAt : completedAt;
    if (
      strategy === undefined ||
      startedAt === undefined ||
      end === undefined ||
      history.phase === 'Cancelled'
    )
      continue;
    seen.set(strategy, Math.max(seen.get(strategy) ?? 0, secondsBetween(startedAt, end)));
  }
  return seen;
}

/**
 * Reports whether the set's record is a copy: Cluster API copies the annotations of a
 * MachineDeployment to its MachineSet, and they stand for no other machine.
 */
function isCopy({ owner }: MachineSet): boolean {
  return owner?.kind === 'MachineDeployment';
}

/**
 * Returns the Maintenance of the request's name, if it is the request's: for its node, declared as
 * a part of it, and with the drain policy that the request demands.
 */
function childOf(
  request: MachineRequest,
  nodeName: string | undefined,
  cache: ClusterCache,
  drainPolicy: MachineAdapter['drainPolicy'],
): Pick<MachineSnapshot, 'child' | 'childChanged' | 'stranger'> {
  const found = cache.requests.get(`maintenances.drydock.dev//${childName(request)}`);
  if (found === undefined) return {};
  const nodes = [nodeName, request.history.nodeName].filter(name => name !== undefined);
  if (found.part?.of !== request.key || !nodes.includes(found.nodeName)) return { stranger: found };
  return {
    child: found,
    ...(isChanged(found, drainPolicy(childDrain(request))) && { childChanged: true }),
  };
}

/**
 * Returns the sources that make a maintenance urgent: agents, which report about their own node
 * only, and clouds that are queried about their machines. Signals of nodes and senders of
 * CloudEvents do not.
 */
function urgentSourcesOf(
  { events }: MachineRequest,
  { sources }: MachineCache,
): ReadonlySet<string> {
  const agents = events.map(({ source }) => source).filter(source => source.startsWith('agent/'));
  const clouds = [...sources.values()]
    .filter(({ aws, urgency }) => aws !== undefined && urgency === 'Heeded')
    .map(({ name }) => name);
  return new Set([...agents, ...clouds]);
}

/** Takes the snapshot of one request at this moment. */
export function snapshotOf(
  request: MachineRequest,
  machines: MachineCache,
  cache: ClusterCache,
  settings: {
    readonly limits: MachineLimits;
    readonly drainLeadSeconds: number;
    readonly drainPolicy: MachineAdapter['drainPolicy'];
  },
): MachineSnapshot {
  const { machine, node, unidentified } = subjectOf(request, machines, cache);
  const nodeName = nodeNameOf(request, machine);
  const recorded =
    request.history.set === undefined ? undefined : machines.sets.get(request.history.set);
  const replacement = replacementOf(
    machines,
    cache,
    recorded ?? (machine && setOf(machines, machine)),
  );
  const notice = node && machines.notices.get(node.name);
  const operatorPod = node && cache.operatorReplicas.ownOn(node.name);
  const pause = machine && pauseOf(machine, setsOf(machines, machine), machines.clusterOf(machine));
  return {
    request,
    machineApi: machines.hasMachineApi,
    surged: [...machines.sets.values()].filter(set => set.surges.has(request.uid) && !isCopy(set)),
    windows: [...cache.windows.values()],
    windowsProblem: cache.knownWindows.problemFor(request),
    others: [...machines.requests.values()].map(other => otherOf(machines, other)),
    seen: seenOf(machines.requests.values()),
    limits: settings.limits,
    nodeCount: cache.nodes.size,
    drainLeadSeconds: settings.drainLeadSeconds,
    ...(machine && { machine }),
    ...(node && { node }),
    ...(operatorPod !== undefined && { operatorPod }),
    ...(pause && { pause }),
    ...(replacement && { replacement }),
    ...childOf(request, nodeName, cache, settings.drainPolicy),
    urgentSources: urgentSourcesOf(request, machines),
    ...(notice && isAgentsOwn(notice, node?.providerId) && { notice }),
    ...(unidentified !== undefined && { unidentified }),
  };
}

/**
 * Reports whether the API server confirms that it has no such node. Rejects for defects only:
 * without a response the result is false.
 */
export async function isNodeGone(api: Api, nodeName: string, log: Log): Promise<boolean> {
  const path = `/api/v1/nodes/${pathSegment(nodeName)}`;
  const found = await vitalGet(api, path, error =>
    log.warn('failed to look up a node', { node: nodeName, error }),
  );
  if (found === undefined) return false;
  if (found.status !== 200 && !isMissing(nodeName, found))
    log.warn('failed to look up a node', { node: nodeName, status: found.status });
  return isMissing(nodeName, found);
}

/** Nodes per page. */
const pageSize = 500;

type Page = {
  readonly metadata?: { readonly continue?: string };
  readonly items?: readonly { readonly spec?: { readonly providerID?: string } }[];
};

/**
 * Reports whether the API server confirms that none of all its nodes has this providerID. Rejects
 * for defects only: without a response the result is false.
 */
async function hasNoNode(api: Api, providerId: string, log: Log): Promise<boolean> {
  let next = '';
  do {
    const query = { limit: pageSize, ...(next !== '' && { continue: next }) };
    const page = await vitalGet(
      api,
      '/api/v1/nodes',
      error => log.warn('failed to look up a node', { providerId, error }),
      query,
    );
    if (page === undefined) return false;
    if (page.status !== 200) {
      log.warn('failed to look up a node', { providerId, status: page.status });
      return false;
    }
    const { items = [], metadata } = page.body as Page;
    if (items.some(({ spec }) => isSameProviderId(spec?.providerID, providerId))) return false;
    next = metadata?.continue ?? '';
  } while (next !== '');
  return true;
}

/**
 * Reports whether the API server itself confirms that a node that no watch has delivered does not
 * exist.
 */
export function isUnseenGone(
  api: Api,
  unseen: NonNullable<MachineDecision['unseenNode']>,
  log: Log,
): Promise<boolean> {
  return 'name' in unseen
    ? isNodeGone(api, unseen.name, log)
    : hasNoNode(api, unseen.providerId, log);
}
