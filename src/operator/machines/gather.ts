import { conditionOf, isReady, transitionTimeOf } from '../../core/hold/node.ts';
import { sameJson } from '../../core/json.ts';
import type { MachineAdapter } from '../../core/machine/adapter.ts';
import { isPending } from '../../core/machine/event.ts';
import { instanceOf, type Machine, type MachineSet } from '../../core/machine/machine.ts';
import { isOver, type MachineRequest, type MachineStrategy, nodeNameOf } from '../../core/machine/request.ts';
import type { MachineLimits, MachineSnapshot, OtherMaintenance, ReplacementSet, UnreadyMachine } from '../../core/machine/snapshot.ts';
import { childDrain, childName } from '../../core/machine/writes.ts';
import type { MaintenanceRequest } from '../../core/request/request.ts';
import { secondsBetween } from '../../core/time.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';
import type { MachineCache } from './machine-cache.ts';

/** Puts together what is known about one machine maintenance. */

/** Longest chain of owners that is followed: Machine, MachineSet, MachineDeployment. */
const longestChain = 3;

/** What would make another machine when this one is gone: the uppermost owner that is known. */
const setOf = ({ sets }: MachineCache, { api, namespace, owner }: Pick<Machine, 'api' | 'namespace' | 'owner'>): MachineSet | undefined => {
  let found: MachineSet | undefined;
  let next = owner;
  for (let step = 0; step < longestChain && next !== undefined; step += 1) {
    const set = sets.get(`${api}/${next.kind}/${namespace}/${next.name}`);
    if (set === undefined) break;
    found = set;
    next = set.owner;
  }
  return found;
};

/** The one that the request names; the only one of that name where it names no namespace. */
export const machineOf = ({ machines }: MachineCache, request: MachineRequest): Machine | undefined => {
  if (request.nodeOnly) return undefined;
  const named = machines.in(request.machineName);
  const { machineNamespace } = request;
  if (machineNamespace !== undefined) return named.find(({ namespace }) => namespace === machineNamespace);
  return named.length > 1 ? named.find(({ providerId }) => instanceOf(providerId) === request.instance) : named[0];
};

/** A node that this cluster does not have belongs to another one: what its machine API says has to do. */
const isServing = (machine: Machine, { nodes }: ClusterCache): boolean => {
  if (machine.deleting || machine.nodeName === undefined) return false;
  const node = nodes.get(machine.nodeName);
  return node === undefined ? machine.available : isReady(node);
};

const unreadyOf = (machine: Machine, { nodes }: ClusterCache): UnreadyMachine => {
  const node = machine.nodeName === undefined ? undefined : nodes.get(machine.nodeName);
  const ready = node && conditionOf(node, 'Ready');
  const since = ready && transitionTimeOf(ready);
  return { machine, ...(since && { since }) };
};

const replacementOf = (machines: MachineCache, cache: ClusterCache, set: MachineSet | undefined): ReplacementSet | undefined => {
  if (set === undefined) return undefined;
  const members = [...machines.machines.values()].filter(machine => setOf(machines, machine)?.key === set.key);
  const others = members.filter(machine => !isServing(machine, cache));
  const unready = others.filter(({ deleting }) => !deleting).map(machine => unreadyOf(machine, cache));
  return { set, members, ready: members.length - others.length, unready };
};

const otherOf = (machines: MachineCache, request: MachineRequest): OtherMaintenance => {
  const machine = machineOf(machines, request);
  const set = request.history.set ?? (machine && setOf(machines, machine)?.key);
  return {
    key: request.key,
    active: request.history.startedAt !== undefined && !isOver(request.history.phase),
    controlPlane: machine?.controlPlane ?? false,
    undrained: new Set(request.history.phase === 'Drained' ? [] : request.events.filter(isPending).map(({ id }) => id)),
    ...(set !== undefined && { set }),
    ...(machine?.zone !== undefined && { zone: machine.zone }),
  };
};

/** How long the maintenances that there are have taken, in seconds: the longest of each strategy. */
const seenOf = (requests: Iterable<MachineRequest>): ReadonlyMap<MachineStrategy, number> => {
  const seen = new Map<MachineStrategy, number>();
  for (const { history } of requests) {
    const { startedAt, drainedAt, completedAt, strategy } = history;
    const end = strategy === 'Drain' ? drainedAt : completedAt;
    if (strategy === undefined || startedAt === undefined || end === undefined || history.phase === 'Cancelled') continue;
    seen.set(strategy, Math.max(seen.get(strategy) ?? 0, secondsBetween(startedAt, end)));
  }
  return seen;
};

/** Cluster API copies the annotations of a MachineDeployment to its MachineSet: the record there is no machine of its own. */
const isCopy = ({ owner }: MachineSet): boolean => owner?.kind === 'MachineDeployment';

/** It differs in more than how long a pod gets: that depends on when it was made. */
const isChanged = (child: MaintenanceRequest, request: MachineRequest, drainPolicy: MachineAdapter['drainPolicy']): boolean => {
  const { maxGracePeriodSeconds: _own, ...own } = child.policy;
  const { maxGracePeriodSeconds: _wanted, ...wanted } = drainPolicy(childDrain(request));
  return !sameJson(own, wanted);
};

/** The Maintenance of the request's name, if it is the request's: for its node, by its own word a part of it, and draining as it is told. */
const childOf = (
  request: MachineRequest,
  nodeName: string | undefined,
  cache: ClusterCache,
  drainPolicy: MachineAdapter['drainPolicy'],
): Pick<MachineSnapshot, 'child' | 'childChanged' | 'stranger'> => {
  const found = cache.requests.get(`maintenances.drydock.dev//${childName(request)}`);
  if (found === undefined) return {};
  const nodes = [nodeName, request.history.nodeName].filter(name => name !== undefined);
  if (found.part?.of !== request.key || !nodes.includes(found.nodeName)) return { stranger: found };
  return { child: found, ...(isChanged(found, request, drainPolicy) && { childChanged: true }) };
};

/** Agents speak of their own node only, and a cloud that is asked of its machines; what a node says of itself, or a sender of CloudEvents, does not press. */
const urgentSourcesOf = ({ events }: MachineRequest, { sources }: MachineCache): ReadonlySet<string> => {
  const agents = events.map(({ source }) => source).filter(source => source.startsWith('agent/'));
  const clouds = [...sources.values()].filter(({ aws, urgency }) => aws !== undefined && urgency === 'Heeded').map(({ name }) => name);
  return new Set([...agents, ...clouds]);
};

/** The snapshot of one request at this moment. */
export const snapshotOf = (
  request: MachineRequest,
  machines: MachineCache,
  cache: ClusterCache,
  settings: { readonly limits: MachineLimits; readonly drainLeadSeconds: number; readonly drainPolicy: MachineAdapter['drainPolicy'] },
): MachineSnapshot => {
  const machine = machineOf(machines, request);
  const nodeName = nodeNameOf(request, machine);
  const node = nodeName === undefined ? undefined : cache.nodes.get(nodeName);
  const recorded = request.history.set === undefined ? undefined : machines.sets.get(request.history.set);
  const replacement = replacementOf(machines, cache, recorded ?? (machine && setOf(machines, machine)));
  const notice = nodeName === undefined ? undefined : machines.notices.get(nodeName);
  return {
    request,
    machineApi: machines.hasMachineApi,
    surged: [...machines.sets.values()].filter(set => set.surges.has(request.uid) && !isCopy(set)),
    windows: [...cache.windows.values()],
    windowsProblem: cache.knownWindows.problemFor(request),
    others: [...machines.requests.values()].map(other => otherOf(machines, other)),
    seen: seenOf(machines.requests.values()),
    limits: settings.limits,
    drainLeadSeconds: settings.drainLeadSeconds,
    ...(machine && { machine }),
    ...(node && { node }),
    ...(replacement && { replacement }),
    ...childOf(request, nodeName, cache, settings.drainPolicy),
    urgentSources: urgentSourcesOf(request, machines),
    ...(notice && { notice }),
  };
};
