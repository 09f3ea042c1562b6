import type { Clock } from '@drydock/utils';
import { Kubelets, type Pace } from './actors/kubelets.ts';
import { alwaysAlive, NodeAgents } from './actors/node-agents.ts';
import { Scheduling } from './actors/scheduling.ts';
import { policyGate } from './admission/policies.ts';
import { disruptionController } from './controllers/budgets/disruption.ts';
import type { Cluster, Controller, Writes } from './controllers/controller.ts';
import { daemonSetController } from './controllers/daemon-sets/daemon-set.ts';
import { deploymentController } from './controllers/deployments/deployment.ts';
import { garbageCollector } from './controllers/garbage.ts';
import { jobController } from './controllers/jobs/job.ts';
import { jobOrphans, ttlAfterFinished } from './controllers/jobs/pods.ts';
import { namespaceController } from './controllers/namespaces.ts';
import { type NodeHealthOptions, nodeMonitor } from './controllers/nodes/monitor.ts';
import {
  nodeLifecycleController,
  nodeTtlController,
  podGarbageCollector,
  taintEvictionController,
} from './controllers/nodes/taint-eviction.ts';
import { replicaSetController } from './controllers/replica-sets/replica-set.ts';
import {
  ControllerRunner,
  otherClients,
  type RequestQueue,
  schedulerClient,
  writesOn,
} from './controllers/runner.ts';
import { statefulSetController } from './controllers/stateful-sets/stateful-set.ts';
import {
  attachDetachController,
  claimProtection,
  volumeProtection,
} from './controllers/volumes/attach-detach.ts';
import { volumeBinder } from './controllers/volumes/binder.ts';
import { EventLog } from './event-log.ts';
import type { Stored } from './object.ts';
import type { RegistryContext } from './registry/metadata.ts';
import { bind, finalize } from './registry/scale.ts';
import type { Resource, StoreChange } from './store/store.ts';

/** Returns new controllers for each start: some keep state. */
function controllers(nodeHealth: NodeHealthOptions): readonly Controller[] {
  return [
    deploymentController,
    replicaSetController,
    statefulSetController,
    daemonSetController,
    jobController(),
    jobOrphans,
    ttlAfterFinished,
    nodeLifecycleController,
    nodeMonitor(nodeHealth),
    nodeTtlController(),
    taintEvictionController(),
    podGarbageCollector(),
    claimProtection,
    volumeProtection,
    volumeBinder,
    attachDetachController(),
  ];
}

/** Cost of a removal in writes: on an idle API server it takes as long as two others. */
const writesOfRemoval = 2;

export type RuntimeOptions = {
  readonly registry: RegistryContext;
  readonly clock: Clock;
  /** Durations of pods. */
  readonly pace: Pace;
  /** Returns whether a node has a responding kubelet; all of them when left out. */
  readonly isAlive?: (node: Stored) => boolean;
  /**
   * Receiver of controllers' notes; `events` stores them as Event objects, as a real cluster does.
   */
  readonly record?: Cluster['record'] | 'events';
  /** Additional controllers. */
  readonly more?: readonly Controller[];
  /** Times after which nodes count as lost. */
  readonly nodeHealth?: NodeHealthOptions;
  /** Queue that limits the rate of writes; unlimited when left out. */
  readonly requests?: RequestQueue;
};

/**
 * All actors of a cluster except its users: controllers, scheduler and kubelets, with a common
 * clock and random source.
 */
export class ClusterRuntime {
  readonly #cluster: Cluster;
  readonly #runner: ControllerRunner;
  readonly #scheduling: Scheduling;
  readonly #kubelets: Kubelets;
  readonly #agents: NodeAgents;
  readonly #registry: RegistryContext;
  readonly #events: EventLog;
  #unsubscribe: (() => void) | undefined;

  constructor({
    registry,
    clock,
    pace,
    isAlive = alwaysAlive,
    record = () => {},
    more = [],
    nodeHealth = {},
    requests,
  }: RuntimeOptions) {
    this.#registry = registry;
    const writes = this.#writesOf('kube-controller-manager', () => this.#runner.wrote());
    const other = (times = 1): void => void requests?.write(otherClients, times);
    this.#events = new EventLog(registry, writes, clock);
    this.#cluster = {
      store: registry.store,
      writes,
      nowMs: () => clock.now().epochMilliseconds,
      random: registry.random,
      ...(requests && { waitMs: name => requests.waitMs(name) }),
      record: note => {
        this.#runner.noted();
        other();
        if (record === 'events') this.#events.record(note);
        else record(note);
      },
    };
    const all = [
      ...controllers(nodeHealth),
      ...more,
      disruptionController(registry.kinds),
      garbageCollector(registry.kinds),
      this.#namespaces(),
    ];
    this.#runner = new ControllerRunner(this.#cluster, clock, all, requests);
    const bind = (pod: Stored, node: string): boolean => {
      requests?.write(schedulerClient);
      return this.#bind(pod, node);
    };
    this.#scheduling = new Scheduling(this.#cluster, clock, bind, requests);
    const kubelet = { ...this.#cluster, writes: this.#writesOf('kubelet', other) };
    this.#kubelets = new Kubelets(kubelet, clock, pace, isAlive);
    this.#agents = new NodeAgents(
      kubelet,
      clock,
      isAlive,
      node => this.#kubelets.back(node),
      nodeHealth.renewMs,
    );
  }

  /** Starts the actors: with the existing objects, then with all changes. */
  start(): void {
    const { store } = this.#registry;
    for (const resource of [
      'nodes',
      'pods',
      ...this.#registry.kinds.all().map(kind => kind.resource),
    ].filter(unique)) {
      for (const object of store.list(resource))
        this.#onChange({ type: 'added', resource, version: store.version, object });
    }
    this.#unsubscribe = store.subscribe(one => this.#onChange(one));
  }

  stop(): void {
    this.#unsubscribe?.();
    this.#runner.stop();
    this.#scheduling.stop();
    this.#kubelets.stop();
    this.#agents.stop();
    this.#events.stop();
  }

  /**
   * Returns writes in the name of a component, subject to policies. Calls `wrote` for every write.
   */
  #writesOf(name: string, wrote: (times?: number) => void): Writes {
    const user = { name, groups: ['system:masters', 'system:authenticated'] };
    const writes = writesOn({ ...this.#registry, gate: policyGate(this.#registry.store, user) });
    return {
      create: (...args) => {
        wrote();
        return writes.create(...args);
      },
      update: (...args) => {
        wrote();
        return writes.update(...args);
      },
      remove: (...args) => {
        wrote(writesOfRemoval);
        return writes.remove(...args);
      },
    };
  }

  #onChange(one: StoreChange): void {
    this.#runner.touch(one);
    this.#scheduling.onChange(one);
    this.#kubelets.onChange(one);
    this.#agents.onChange(one);
  }

  #namespaces(): Controller {
    const { kinds } = this.#registry;
    const within = (): readonly string[] =>
      kinds
        .all()
        .filter(kind => kind.namespaced)
        .map(kind => kind.resource)
        .filter(unique);
    return namespaceController(within, ({ metadata: { name } }) =>
      finalize(this.#registry, name, { metadata: { name }, spec: {} }),
    );
  }

  #bind({ metadata }: Stored, node: string): boolean {
    const { namespace = '', name, uid } = metadata;
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name, namespace, uid },
      target: { kind: 'Node', name: node },
    };
    return bind(this.#registry, namespace, name, binding).kind === 'bound';
  }
}

function unique(resource: Resource, index: number, all: readonly Resource[]): boolean {
  return all.indexOf(resource) === index;
}
