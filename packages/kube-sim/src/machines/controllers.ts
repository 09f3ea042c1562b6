import type { JsonObject } from '@drydock/apimachinery';
import {
  type Cluster,
  type Controller,
  controllerOf,
  controllerReference,
  isDeleting,
  keyOf,
  split,
} from '../controllers/controller.ts';
import { report } from '../controllers/workload.ts';
import { at, kubernetesVersion, objects, part, type Stored, strings, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import { type Flavour, type Instance, machineGroups, type SimulatedCloud } from './cloud.ts';

/**
 * Machine controllers on a simulated cloud, modelled on the observed behavior of the real ones:
 * OpenShift's create a replacement as soon as a machine is being deleted, Cluster API's count it
 * until it is gone; both delete the marked one first when the set is scaled down, and keep a
 * machine whole as long as it has a hook. A difference: their own drain evicts nothing, it waits
 * until the node is empty.
 */

export type MachineOptions = {
  readonly flavour: Flavour;
  readonly cloud: SimulatedCloud;
  /** Milliseconds from the order to a node that is Ready. */
  readonly launchMs: number;
  /** Kernel of new machines; `embedded` when left out, as for nodes without a given one. */
  readonly kernelVersion?: string;
};

/** Milliseconds until a node follows changes of its machine. */
const lookAgainMs = 2000;

const hookPrefix = 'pre-drain.delete.hook.machine.cluster.x-k8s.io/';

function resourcesOf(flavour: Flavour): { readonly machines: string; readonly sets: string } {
  const { group } = machineGroups[flavour];
  return { machines: `machines.${group}`, sets: `machinesets.${group}` };
}

/** Returns whether a hook keeps the machine whole during its deletion. */
export function hasHook(machine: Stored): boolean {
  return (
    objects(at(machine, 'spec', 'lifecycleHooks', 'preDrain')).length > 0 ||
    Object.keys(machine.metadata.annotations ?? {}).some(key => key.startsWith(hookPrefix))
  );
}

function instanceOf(machine: Stored): string {
  return text(machine, 'spec', 'providerID').split('/').at(-1) ?? '';
}

/**
 * Returns the deletion order of both machine APIs: terminating, marked, without a node, the
 * youngest.
 */
function priority(machine: Stored, group: string): number {
  if (isDeleting(machine)) return 0;
  if (machine.metadata.annotations?.[`${group}/delete-machine`] !== undefined) return 1;
  return text(machine, 'status', 'nodeRef', 'name') === '' ? 2 : 3;
}

class SetLoop {
  readonly #counts: Flavour;
  readonly #group: string;
  readonly #version: string;
  readonly #machines: string;
  readonly #sets: string;

  constructor({ flavour }: MachineOptions) {
    this.#counts = flavour;
    this.#group = machineGroups[flavour].group;
    this.#version = machineGroups[flavour].version;
    const { machines, sets } = resourcesOf(flavour);
    this.#machines = machines;
    this.#sets = sets;
  }

  controller(): Controller {
    return {
      name: 'machineset-controller',
      keysOf: change => this.#keysOf(change),
      reconcile: (key, cluster) => this.#reconcile(key, cluster),
    };
  }

  #keysOf({ resource, object }: StoreChange): readonly string[] {
    if (resource === this.#sets) return [keyOf(object)];
    const owner = resource === this.#machines ? controllerOf(object) : undefined;
    return owner === undefined ? [] : [`${object.metadata.namespace ?? ''}/${owner.name}`];
  }

  #machinesOf({ store }: Cluster, { metadata }: Stored): readonly Stored[] {
    return store
      .list(this.#machines, metadata.namespace ?? '')
      .filter(machine => controllerOf(machine)?.uid === metadata.uid);
  }

  #make({ writes }: Cluster, set: Stored): void {
    const template = part(set, 'spec', 'template');
    writes.create(this.#machines, {
      metadata: {
        namespace: set.metadata.namespace ?? '',
        generateName: `${set.metadata.name}-`,
        labels: strings(at(template, 'metadata', 'labels')),
        finalizers: [`machine.${this.#group}`],
        ownerReferences: [
          controllerReference(`${this.#group}/${this.#version}`, 'MachineSet', set),
        ],
      },
      spec: part(template, 'spec'),
    });
  }

  #reconcile(key: string, cluster: Cluster): undefined {
    const [namespace, name] = split(key);
    const set = cluster.store.get(this.#sets, namespace, name);
    if (set === undefined || isDeleting(set)) return;
    const all = this.#machinesOf(cluster, set);
    const counted = this.#counts === 'capi' ? all : all.filter(machine => !isDeleting(machine));
    const wanted = Number(at(set, 'spec', 'replicas') ?? 1);
    for (let missing = wanted - counted.length; missing > 0; missing -= 1) this.#make(cluster, set);
    for (const { metadata } of this.#order(counted).slice(
      0,
      Math.max(0, counted.length - wanted),
    )) {
      if (metadata.deletionTimestamp === undefined)
        cluster.writes.remove(this.#machines, namespace, metadata.name, { uid: metadata.uid });
    }
    const now = cluster.store.get(this.#sets, namespace, name) ?? set;
    report(cluster, this.#sets, now, { replicas: this.#machinesOf(cluster, set).length });
  }

  #order(machines: readonly Stored[]): readonly Stored[] {
    const young = (one: Stored, other: Stored): number =>
      one.metadata.creationTimestamp < other.metadata.creationTimestamp ? 1 : -1;
    return machines.toSorted(
      (one, other) =>
        priority(one, this.#group) - priority(other, this.#group) || young(one, other),
    );
  }
}

function condition(status: 'True' | 'Unknown', now: string): JsonObject {
  return {
    type: 'Ready',
    status,
    reason: status === 'True' ? 'KubeletReady' : 'NodeStatusUnknown',
    message:
      status === 'True'
        ? 'kubelet is posting ready status'
        : 'Kubelet stopped posting node status.',
    lastHeartbeatTime: now,
    lastTransitionTime: now,
  };
}

function nodeFor(
  machine: Stored,
  { zone, bootId: bootID }: Instance,
  kernelVersion: string,
  now: string,
): JsonObject {
  return {
    metadata: {
      name: machine.metadata.name,
      labels: {
        'kubernetes.io/hostname': machine.metadata.name,
        'topology.kubernetes.io/zone': zone,
        ...strings(at(machine, 'spec', 'metadata', 'labels')),
      },
    },
    spec: { providerID: text(machine, 'spec', 'providerID') },
    status: {
      capacity: { cpu: '16', memory: '64Gi', pods: '110' },
      allocatable: { cpu: '16', memory: '64Gi', pods: '110' },
      conditions: [condition('True', now)],
      nodeInfo: {
        kubeletVersion: kubernetesVersion,
        kernelVersion,
        operatingSystem: 'linux',
        architecture: 'amd64',
        bootID,
      },
    },
  };
}

/** Returns whether the node has pods that a drain would evict. */
function isOccupied({ store }: Cluster, node: string): boolean {
  return store
    .indexed('pods', 'spec.nodeName', node)
    .some(pod => controllerOf(pod)?.kind !== 'DaemonSet');
}

class MachineLoop {
  readonly #options: MachineOptions;
  readonly #resource: string;
  readonly #group: string;

  constructor(options: MachineOptions) {
    this.#options = options;
    this.#resource = resourcesOf(options.flavour).machines;
    this.#group = machineGroups[options.flavour].group;
  }

  controller(): Controller {
    return {
      name: 'machine-controller',
      keysOf: change => this.#keysOf(change),
      reconcile: (key, cluster) => this.#reconcile(key, cluster),
    };
  }

  #keysOf({ resource, object }: StoreChange): readonly string[] {
    if (resource === this.#resource) return [keyOf(object)];
    const owner =
      resource === 'nodes' ? object.metadata.annotations?.[`${this.#group}/machine`] : undefined;
    return owner === undefined ? [] : [owner];
  }

  #reconcile(key: string, cluster: Cluster): number | undefined {
    const [namespace, name] = split(key);
    const machine = cluster.store.get(this.#resource, namespace, name);
    if (machine === undefined) return undefined;
    if (isDeleting(machine)) return this.#end(machine, cluster);
    if (instanceOf(machine) === '') return this.#launch(machine, cluster);
    return this.#join(machine, cluster);
  }

  #launch(machine: Stored, { writes }: Cluster): undefined {
    const zone = text(machine, 'spec', 'failureDomain') || 'north';
    const { id } = this.#options.cloud.launch(zone);
    writes.update(this.#resource, {
      ...machine,
      spec: { ...part(machine, 'spec'), providerID: `aws:///${zone}/${id}` },
    });
  }

  /**
   * Lets the node join at its time, unless it existed before its Machine, and then follow its
   * machine.
   */
  #join(machine: Stored, cluster: Cluster): number | undefined {
    const { cloud, launchMs, kernelVersion = 'embedded' } = this.#options;
    const instance = cloud.instance(instanceOf(machine));
    const { name } = machine.metadata;
    const joinsAt = Date.parse(machine.metadata.creationTimestamp) + launchMs;
    const node = cluster.store.get('nodes', '', name);
    if (node === undefined && cluster.nowMs() < joinsAt) return joinsAt - cluster.nowMs();
    const now = new Date(cluster.nowMs()).toISOString();
    if (instance === undefined) {
      if (node !== undefined) cluster.writes.remove('nodes', '', name);
      this.#report(machine, cluster, {
        phase: 'Failed',
        errorMessage: "can't find created instance",
      });
      return undefined;
    }
    if (node === undefined) {
      const fresh = nodeFor(machine, instance, kernelVersion, now);
      const annotations = { [`${this.#group}/machine`]: keyOf(machine) };
      cluster.writes.create('nodes', {
        ...fresh,
        metadata: { ...part(fresh, 'metadata'), annotations },
      });
    } else this.#follow(node, cluster, instance.state === 'running', instance.bootId, now);
    const available = {
      type: 'Available',
      status: 'True',
      reason: 'Available',
      message: '',
      lastTransitionTime: now,
    };
    const stands = objects(at(machine, 'status', 'conditions'));
    const conditions = stands.length > 0 ? stands : [available];
    this.#report(machine, cluster, {
      phase: 'Running',
      nodeRef: { kind: 'Node', name },
      conditions: [...conditions],
    });
    return lookAgainMs;
  }

  /**
   * Updates a node: silent while its machine does not run; the kubelet reports its readiness
   * afterwards.
   */
  #follow(node: Stored, cluster: Cluster, runs: boolean, bootID: string, now: string): void {
    const conditions = objects(at(node, 'status', 'conditions'));
    const isSilent = conditions.some(({ type, status }) => type === 'Ready' && status !== 'True');
    if ((runs || isSilent) && text(node, 'status', 'nodeInfo', 'bootID') === bootID) return;
    const others = conditions.filter(({ type }) => type !== 'Ready');
    const nodeInfo = { ...part(node, 'status', 'nodeInfo'), bootID };
    const said = runs ? conditions : [...others, condition('Unknown', now)];
    cluster.writes.update(
      'nodes',
      { ...node, status: { ...part(node, 'status'), nodeInfo, conditions: [...said] } },
      'status',
    );
  }

  #report(machine: Stored, cluster: Cluster, status: JsonObject): void {
    report(
      cluster,
      this.#resource,
      cluster.store.get(this.#resource, machine.metadata.namespace ?? '', machine.metadata.name) ??
        machine,
      status,
    );
  }

  #end(machine: Stored, cluster: Cluster): number | undefined {
    const { name } = machine.metadata;
    if (hasHook(machine)) return undefined;
    const node = cluster.store.get('nodes', '', name);
    if (node !== undefined && at(node, 'spec', 'unschedulable') !== true) {
      cluster.writes.update('nodes', {
        ...node,
        spec: { ...part(node, 'spec'), unschedulable: true },
      });
    }
    if (isOccupied(cluster, name)) return 1000;
    this.#options.cloud.terminate(instanceOf(machine));
    if (node !== undefined) cluster.writes.remove('nodes', '', name);
    const finalizers = (machine.metadata.finalizers ?? []).filter(
      finalizer => finalizer !== `machine.${this.#group}`,
    );
    cluster.writes.update(this.#resource, {
      ...machine,
      metadata: { ...machine.metadata, finalizers },
    });
    return undefined;
  }
}

/**
 * Returns whether the kubelet of a node responds: its machine runs, and the node has the current
 * boot ID. Nodes of other clouds always respond.
 */
export function runsOn(cloud: SimulatedCloud) {
  return (node: Stored): boolean => {
    const providerId = text(node, 'spec', 'providerID');
    if (!providerId.startsWith('aws:')) return true;
    const instance = cloud.instance(providerId.split('/').at(-1) ?? '');
    return (
      instance?.state === 'running' &&
      text(node, 'status', 'nodeInfo', 'bootID') === instance.bootId
    );
  };
}

/** Returns the controllers of a machine API, for `RuntimeOptions.more`. */
export function machineControllers(options: MachineOptions): readonly Controller[] {
  return [new SetLoop(options).controller(), new MachineLoop(options).controller()];
}
