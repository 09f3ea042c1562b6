import type { Node } from '../../core/hold/node.ts';
import type { NodeSnapshot } from '../../core/maintenance/snapshot.ts';
import { etcdNamespace } from '../../core/quorum/etcd-guard.ts';
import { memberLabels, membersOf } from '../../core/quorum/quorum.ts';
import { leaseKey, leaseNames } from '../../core/request/request.ts';
import type { World } from '../cache/cluster-cache.ts';
import type { Evictor } from '../evict/evictor.ts';
import type { InFlightEvictions } from '../evict/in-flight-evictions.ts';
import type { OperatorOptions } from './node-reconciler.ts';
import type { Desk } from './node-states.ts';
import { longestDrain } from './overview.ts';

/** From what pictures of nodes are taken. */
type Sources = {
  readonly world: World;
  readonly desk: Desk;
  readonly evictor: Evictor;
  readonly inFlight: InFlightEvictions;
  readonly options: Pick<OperatorOptions, 'adapters' | 'terms' | 'self' | 'openShift' | 'hosts'>;
};

const quorumOf = (node: Node | undefined, { world, desk, options }: Sources): Pick<NodeSnapshot, 'quorum'> => {
  if (node === undefined || !memberLabels.some(label => node.labels[label] !== undefined)) return {};
  const members = membersOf([...world.nodes.values()]);
  const seats = members.map(({ name }) => name).filter(name => name !== node.name && desk.of(name).notes.seat);
  const etcdBudgets = options.openShift === true ? { etcdBudgets: world.budgets.in(etcdNamespace) } : {};
  return { quorum: { members, seats: new Set(seats), ...etcdBudgets } };
};

const leasesOf = (nodeName: string, { world, options }: Sources): NodeSnapshot['leases'] => {
  const leases = leaseNames(options.adapters, nodeName).map(name => world.leases.get(leaseKey(name)));
  return new Map(leases.flatMap(lease => (lease ? [[lease.key, lease] as const] : [])));
};

/** VMs of the node, KubeVirt's and those of its hypervisor, as far as somebody knows of them. */
const vmsOf = (nodeName: string, pods: NodeSnapshot['pods'], { world, desk, options }: Sources): Pick<NodeSnapshot, 'vms' | 'host'> => {
  const vms = world.vms.of(nodeName, pods ?? [], new Set(desk.of(nodeName).notes.vms?.vms.keys()));
  const host = options.hosts?.of(nodeName);
  return { ...(vms && { vms }), ...(host !== undefined && { host }) };
};

/** Takes the picture of a node: everything known about it at this moment. */
export const snapshots =
  (sources: Sources) =>
  (nodeName: string): NodeSnapshot => {
    const { world, desk, evictor, inFlight, options } = sources;
    const { adapters, terms, self } = options;
    const node = world.nodes.get(nodeName);
    const pods = world.pods.of(nodeName);
    const { notes, trouble } = desk.of(nodeName);
    const { daemonSetNames } = world;
    return {
      nodeName,
      requests: world.requests.in(nodeName),
      podsConfirmed: world.pods.isConfirmed(nodeName),
      budgets: world.guards.over(pods ?? []),
      leases: leasesOf(nodeName, sources),
      attachments: world.attachments.in(nodeName),
      volumes: world.volumes,
      attempts: evictor.attemptsOf(nodeName),
      inFlight: inFlight.all(),
      notes,
      adapters,
      missingKinds: world.missingKinds,
      terms,
      windows: [...world.windows.values()],
      ...(world.windows.size > 0 && longestDrain(world.requests.values())),
      ...quorumOf(node, sources),
      ...vmsOf(nodeName, pods, sources),
      ...(self && { self: self.pod }),
      ...(node && { node }),
      ...(pods && { pods }),
      ...(daemonSetNames && { daemonSets: daemonSetNames }),
      ...(trouble && { trouble }),
    };
  };
