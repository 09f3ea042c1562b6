import type { JsonObject } from '@drydock/apimachinery';
import { leaseNamespaces, served } from '@drydock/apis';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import type { KindAdapter } from '@drydock/core/request';
import type { DemoCloud } from '@drydock/dashboard';
import { type Api, EventRecorder, type Watcher } from '@drydock/kube-client';
import {
  at,
  ClusterRuntime,
  createCluster,
  type EmbeddedCluster,
  inProcess,
  objects,
  part,
  type Stored,
  text,
} from '@drydock/kube-sim';
import { isReady, nodeOf, phaseOf, type Writes, writesOn } from '@drydock/kube-sim/controllers';
import { SimulatedKubeVirt } from '@drydock/kube-sim/kubevirt';
import { machineControllers, runsOn, SimulatedCloud } from '@drydock/kube-sim/machines';
import { OpenStack, OpenStackApi, simulatedEnvironment } from '@drydock/kube-sim/nova';
import type { Resource, Store } from '@drydock/kube-sim/store';
import { environmentConfig, openNova } from '@drydock/openstack';
import { controllerManager, noMeter, type OpenStackTerms, workNamespace } from '@drydock/operator';
import { type Clock, type Log, PanicHandler, systemClock } from '@drydock/utils';
import { parse } from 'yaml';
import { demoObjects, hostsOf, instanceOn, startAgents } from './demo-objects.ts';
import { furnishMachines, ownNamespace } from './machines.ts';
import { furnishPlans, oldKernel } from './plans.ts';
import { createDemoVms } from './vms.ts';

/**
 * Simulates the containers of a plan, which do not really run: one with the image
 * `…/kernel-update:VERSION` installs that kernel and restarts the machine, whose node returns with
 * another boot ID and that kernel. The simulated kubelets do the rest.
 */

type Parts = {
  readonly cloud: SimulatedCloud;
  readonly store: Store;
  readonly writes: Writes;
  readonly clock: Clock;
};

/**
 * Milliseconds from the start of the container to the restart of the machine, and until that is
 * back.
 */
type KernelPace = { readonly installMs: number; readonly rebootMs: number };

const image = /(?:^|\/)kernel-update:([\w.-]{1,63})$/;

/** Returns the kernel that the pod installs; undefined for other pods. */
function kernelOf(pod: Stored): string | undefined {
  return objects(at(pod, 'spec', 'containers'))
    .map(container => image.exec(text(container, 'image'))?.[1])
    .find(version => version !== undefined);
}

class Kernels {
  readonly #parts: Parts;
  readonly #pace: KernelPace;
  /** UIDs of started pods: a container runs once. */
  readonly #begun = new Set<string>();
  readonly #timers = new Set<() => void>();
  /** Kernel for the next boot of each machine, by its instance. */
  readonly #installed = new Map<string, string>();

  constructor(parts: Parts, pace: KernelPace) {
    this.#parts = parts;
    this.#pace = pace;
  }

  /** Watches pods and machines; returns a function that stops it. */
  start(): () => void {
    const { store, cloud } = this.#parts;
    const ends = [
      store.subscribe(({ type, object }) => {
        if (type !== 'removed') this.#podChanged(object);
      }, 'pods'),
      cloud.subscribe(instance => this.#machineChanged(instance)),
    ];
    return () => {
      for (const end of [...ends, ...this.#timers]) end();
    };
  }

  #podChanged(pod: Stored): void {
    const { namespace = '', uid } = pod.metadata;
    const version =
      namespace === workNamespace && phaseOf(pod) === 'Running' ? kernelOf(pod) : undefined;
    if (version === undefined || this.#begun.has(uid)) return;
    this.#begun.add(uid);
    const end = this.#parts.clock.after(this.#pace.installMs, () => {
      this.#timers.delete(end);
      this.#install(pod, version);
    });
    this.#timers.add(end);
  }

  #install({ metadata: { namespace = '', name, uid } }: Stored, version: string): void {
    const { store, cloud } = this.#parts;
    const pod = store.get('pods', namespace, name);
    // The pod was deleted during its work.
    if (pod?.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined) return;
    const instance = instanceOn(store.get('nodes', '', nodeOf(pod)));
    if (instance === undefined) return;
    this.#installed.set(instance, version);
    cloud.restart(instance, this.#pace.rebootMs);
  }

  /** Writes boot ID and kernel of a restarted machine in a single update, as its kubelet does. */
  #machineChanged(id: string): void {
    const { store, cloud, writes } = this.#parts;
    const [instance, kernelVersion] = [cloud.instance(id), this.#installed.get(id)];
    if (instance === undefined) this.#installed.delete(id);
    if (instance?.state !== 'running' || kernelVersion === undefined) return;
    const node = store.list('nodes').find(one => instanceOn(one) === id);
    if (node === undefined) return;
    const nodeInfo: JsonObject = {
      ...part(node, 'status', 'nodeInfo'),
      bootID: instance.bootId,
      kernelVersion,
    };
    writes.update('nodes', { ...node, status: { ...part(node, 'status'), nodeInfo } }, 'status');
  }
}

/** Starts the simulation; returns a function that stops it. */
export function simulateKernelUpdates(parts: Parts, pace: KernelPace): () => void {
  return new Kernels(parts, pace).start();
}

/**
 * Two workers of the demo are hypervisors of an OpenStack as well, whose servers are not pods of
 * the cluster.
 */

const hosts = ['worker-1', 'worker-2', 'worker-3'] as const;

/** Milliseconds that a server takes to migrate, by its memory: long enough to be seen. */
function migrationMs(speed: number) {
  return ({ memoryMiB }: { readonly memoryMiB: number }): number => (3000 + memoryMiB) / speed;
}

/** Starts an OpenStack in this process with servers that migrate `speed` times as fast as usual. */
function startServers(clock: Clock, speed: number): OpenStackTerms {
  const cloud = new OpenStack({ clock, hosts, migrationMs: migrationMs(speed) });
  for (const [index, host] of hosts.entries()) {
    for (const name of ['web', 'batch', 'archive']) {
      const state = name === 'archive' ? { vmState: 'stopped' } : {};
      cloud.addServer({
        name: `${name}-${index + 1}`,
        host,
        memoryMiB: name === 'batch' ? 4096 : 1024,
        volumeBacked: name !== 'batch',
        ...state,
      });
    }
  }
  const api = new OpenStackApi(cloud);
  const config = environmentConfig(simulatedEnvironment('http://openstack.example/identity/v3'));
  const nova = openNova(config, clock, api.exchange);
  return { nova, limits: {} };
}

/**
 * Returns the durations of the demo, long enough to be seen: pods; migrations of VMs; a machine
 * from its order to its node, and from its end to its new start; a kernel, from the start of its
 * pod to the restart of the machine, and until that is back.
 */
function timesAt(speed: number) {
  return {
    pods: { startMs: 2000 / speed, stopMs: 3000 / speed, spread: 0.4 },
    migrations: { baseMs: 2000 / speed, perGiMs: 2000 / speed },
    launchMs: 20_000 / speed,
    rebootMs: 20_000 / speed,
    kernels: { installMs: 3000 / speed, rebootMs: 8000 / speed },
    /** Seconds that the plan waits for a budget that never allows an eviction. */
    patienceSeconds: Math.ceil(40 / speed),
  };
}

/** Milliseconds for events that are still in flight at the end. */
const flushMs = 500;

/** A simulated cluster in this process with its actors and Drydock's operator. */
export type Demo = {
  readonly cluster: EmbeddedCluster;
  /** Client that the operator uses. */
  readonly ports: Api & Watcher;
  readonly adapters: readonly KindAdapter[];
  /** Hosts of its machines; an empty demo has none. */
  readonly hosts?: DemoCloud;
  stop(): Promise<void>;
};

export type DemoOptions = {
  /** Whether the demo has neither workloads nor Drydock: a cluster for a user's own tests. */
  readonly empty?: boolean;
  /** Whether the demo puts a node into maintenance once every pod runs. */
  readonly begins?: boolean;
  /** Factor over a speed that people can follow; 1 when left out. */
  readonly speed?: number;
  readonly log: Log;
};

function make(cluster: EmbeddedCluster, resource: Resource, object: JsonObject): Stored {
  const written = writesOn(cluster.registry).create(resource, object);
  if (written.kind === 'refused')
    throw new Error(
      `the demo cannot have ${JSON.stringify(object['metadata'])}: ${written.message}`,
    );
  return written.object;
}

function settle(cluster: EmbeddedCluster, cloud: SimulatedCloud, patienceSeconds: number): void {
  const add = (resource: Resource, object: JsonObject): Stored => make(cluster, resource, object);
  for (const text of crdTexts(defaultGroups))
    make(cluster, 'customresourcedefinitions.apiextensions.k8s.io', parse(text) as JsonObject);
  furnishMachines(add, cloud, systemClock.now());
  for (const [resource, object] of demoObjects) add(resource, object);
  createDemoVms(add);
  furnishPlans(add, patienceSeconds);
}

/** Starts a demo, all of it within this process. */
export function startDemo({ empty = false, begins = false, speed = 1, log }: DemoOptions): Demo {
  const { pods: pace, migrations, launchMs, rebootMs, kernels, patienceSeconds } = timesAt(speed);
  const kubeVirt = new SimulatedKubeVirt(migrations);
  const cluster = createCluster({
    clock: systemClock,
    random: Math.random,
    extensions: empty ? [] : [kubeVirt.extension()],
  });
  const { registry } = cluster;
  const cloud = new SimulatedCloud(systemClock, rebootMs);
  const more = empty
    ? []
    : [
        ...machineControllers({ flavour: 'openshift', cloud, launchMs, kernelVersion: oldKernel }),
        ...kubeVirt.controllers(),
      ];
  const runtime = new ClusterRuntime({
    registry,
    clock: systemClock,
    pace,
    record: 'events',
    more,
    ...(!empty && { isAlive: runsOn(cloud) }),
  });
  runtime.start();
  const ports = inProcess(cluster, { userAgent: 'drydock' });
  const adapters = served(leaseNamespaces({}));
  if (empty) return { cluster, ports, adapters, stop: async () => runtime.stop() };
  settle(cluster, cloud, patienceSeconds);
  const parts = { cloud, store: registry.store, writes: writesOn(registry), clock: systemClock };
  const actors = [startAgents(parts), simulateKernelUpdates(parts, kernels)];
  const end = startOperator({ ports, adapters, cloud, speed, log });
  const begin = (): void =>
    void make(cluster, 'maintenances.drydock.dev', firstMaintenance(cluster));
  const forget = begins ? whenSettled(cluster, begin) : (): void => {};
  const stop = async (): Promise<void> => {
    forget();
    for (const endActor of actors) endActor();
    cloud.stop();
    await end();
    runtime.stop();
  };
  return { cluster, ports, adapters, hosts: hostsOf(parts), stop };
}

type Workplace = Required<Pick<DemoOptions, 'log' | 'speed'>> &
  Pick<Demo, 'ports' | 'adapters'> & { readonly cloud: SimulatedCloud };

/**
 * Starts the operator as in any cluster, on the client of this process; all cloud calls go to the
 * simulated one. Returns a function that stops it.
 */
function startOperator({ ports, adapters, cloud, speed, log }: Workplace): () => Promise<void> {
  const recorder = new EventRecorder({
    api: ports,
    clock: systemClock,
    log,
    random: Math.random,
    instance: 'demo',
  });
  const operator = controllerManager({
    api: ports,
    watcher: ports,
    recorder,
    meter: noMeter,
    fence: { mayAct: () => true },
    clock: systemClock,
    log,
    defects: new PanicHandler({ log }),
    adapters,
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
    openStack: startServers(systemClock, speed),
    haltLease: { namespace: 'drydock-system', name: 'drydock' },
    machines: {
      limits: { perSet: 1, perZone: 0, nodes: 1 },
      drainLeadSeconds: 1800,
      namespace: ownNamespace,
      scanner: { scan: async (source, machines) => cloud.scan(source.name, [...machines.keys()]) },
    },
  });
  const done = new AbortController();
  const running = operator.run(done.signal);
  return async () => {
    done.abort();
    await running;
    await recorder.drain(flushMs);
  };
}

/** Runs the task once, when every pod of the demo is ready. Returns a function that cancels it. */
function whenSettled({ registry: { store } }: EmbeddedCluster, task: () => void): () => void {
  const unsubscribe = store.subscribe(() => {
    const pods = store.list('pods');
    if (pods.length < demoObjects.length || !pods.every(isReady)) return;
    unsubscribe();
    task();
  }, 'pods');
  return unsubscribe;
}

/** Returns a maintenance of the most interesting node: one with a pod that can never be evicted. */
function firstMaintenance({ registry: { store } }: EmbeddedCluster): JsonObject {
  const stuck = store
    .list('pods', 'shop')
    .find(({ metadata }) => metadata.labels?.['app'] === 'payment');
  const nodeName = stuck === undefined ? 'worker-1' : nodeOf(stuck);
  return {
    metadata: { name: nodeName },
    spec: {
      nodeName,
      reason: 'a new disk',
      requester: 'the demo',
      drain: { force: true, deleteEmptyDirData: true },
    },
  };
}
