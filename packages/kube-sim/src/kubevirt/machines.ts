import type { JsonObject } from '@drydock/apimachinery';
import { plain } from '../api/message.ts';
import {
  type Cluster,
  type Controller,
  controllerOf,
  controllerReference,
  isDeleting,
  isFinished,
  keyOf,
  split,
} from '../controllers/controller.ts';
import { report } from '../controllers/workload.ts';
import type { Extension } from '../extension.ts';
import { at, objects, part, type Stored, strings, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import { Handler, instanceController, type MigrationPace } from './handler.ts';
import { migrationController } from './migrations.ts';
import { review, serve } from './virt-api.ts';
import {
  annotations,
  apiVersion,
  conditionOf,
  finalizers,
  hasDrainTaint,
  hasQueue,
  home,
  instances,
  instancesOn,
  isActive,
  isFinal,
  isMigratable,
  isUnfinished,
  labels,
  launchersOf,
  limitsOf,
  machines,
  markOf,
  migrations,
  migrationsOf,
  nodeOf,
  phaseOf,
  strategyOf,
} from './words.ts';

/** The part of virt-controller that restarts VMs. Upstream: pkg/virt-controller/watch/vm. */

function machineKeys({ resource, object }: StoreChange): readonly string[] {
  if (resource === machines) return [keyOf(object)];
  const owner = resource === instances ? controllerOf(object) : undefined;
  return owner?.kind === 'VirtualMachine'
    ? [`${object.metadata.namespace ?? ''}/${owner.name}`]
    : [];
}

function runStrategyOf(machine: Stored): string {
  return (
    text(machine, 'spec', 'runStrategy') ||
    (at(machine, 'spec', 'running') === true ? 'Always' : 'Halted')
  );
}

/** Returns whether a VM that has ended is to run again. */
function restarts(machine: Stored, vmi: Stored): boolean {
  const strategy = runStrategyOf(machine);
  return strategy === 'Always' || (strategy === 'RerunOnFailure' && phaseOf(vmi) === 'Failed');
}

function start({ writes }: Cluster, machine: Stored): void {
  const template = part(machine, 'spec', 'template');
  const { name, namespace = '' } = machine.metadata;
  writes.create(instances, {
    metadata: {
      name,
      namespace,
      labels: strings(at(template, 'metadata', 'labels')),
      annotations: strings(at(template, 'metadata', 'annotations')),
      ownerReferences: [controllerReference(apiVersion, 'VirtualMachine', machine)],
    },
    spec: part(template, 'spec'),
  });
}

const statusWords: Readonly<Record<string, string>> = {
  Running: 'Running',
  Scheduled: 'Starting',
  Scheduling: 'Starting',
  Pending: 'Starting',
  '': 'Starting',
};

function say(cluster: Cluster, machine: Stored, vmi: Stored | undefined): void {
  const isGoing = vmi !== undefined && (isDeleting(vmi) || isFinal(vmi));
  const ready = vmi !== undefined && conditionOf(vmi, 'Ready')?.['status'] === 'True' && !isGoing;
  const conditions = objects(at(vmi, 'status', 'conditions')).filter(one =>
    ['Ready', 'LiveMigratable'].includes(text(one, 'type')),
  );
  const word =
    vmi === undefined
      ? 'Stopped'
      : isGoing
        ? 'Stopping'
        : (statusWords[phaseOf(vmi)] ?? 'Starting');
  report(cluster, machines, machine, {
    conditions: [...conditions],
    ...(vmi !== undefined && { created: true }),
    ...(ready && { ready: true }),
    printableStatus: word,
    runStrategy: runStrategyOf(machine),
  });
}

function reconcileMachine(key: string, cluster: Cluster): undefined {
  const [namespace, name] = split(key);
  const machine = cluster.store.get(machines, namespace, name);
  if (machine === undefined || isDeleting(machine)) return;
  const vmi = cluster.store.get(instances, namespace, name);
  if (vmi === undefined) {
    if (['Always', 'RerunOnFailure'].includes(runStrategyOf(machine))) start(cluster, machine);
  } else if (
    !isDeleting(vmi) &&
    (runStrategyOf(machine) === 'Halted' || (isFinal(vmi) && restarts(machine, vmi)))
  ) {
    cluster.writes.remove(instances, namespace, name, { uid: vmi.metadata.uid });
  }
  say(
    cluster,
    cluster.store.get(machines, namespace, name) ?? machine,
    cluster.store.get(instances, namespace, name),
  );
}

const machineController: Controller = {
  name: 'virtualmachine-start-controller',
  keysOf: machineKeys,
  reconcile: reconcileMachine,
};

/**
 * The part of virt-controller that creates migrations of marked VMs. Upstream:
 * pkg/virt-controller/watch/drain/evacuation, v1.7.
 */

/** Requeue delay in milliseconds while there are more marked VMs than it may migrate. */
const busyMs = 5000;

/**
 * Requeue delay in milliseconds after the end of an old target pod: only the node's heartbeat wakes
 * the controller.
 */
const heartbeatMs = 30_000;

function nodesToEvacuate({ resource, object }: StoreChange, { store }: Cluster): readonly string[] {
  if (resource === 'nodes') return [object.metadata.name];
  if (resource === instances) return [nodeOf(object)].filter(node => node !== '');
  if (resource !== migrations) return [];
  const vmi = store.get(
    instances,
    object.metadata.namespace ?? '',
    text(object, 'spec', 'vmiName'),
  );
  return vmi === undefined || nodeOf(vmi) === '' ? [] : [nodeOf(vmi)];
}

/**
 * Returns whether a VM is marked, or its node has the legacy taint, and its strategy leaves the
 * migration to this controller.
 */
function isToMove({ store }: Cluster, vmi: Stored, node: Stored): boolean {
  if (isFinal(vmi) || isDeleting(vmi) || !isMigratable(vmi)) return false;
  const isOurs = ['LiveMigrate', 'LiveMigrateIfPossible'].includes(strategyOf(store, vmi));
  return isOurs && (markOf(vmi) !== '' || hasDrainTaint(node));
}

function migrationFor(vmi: Stored, node: string): JsonObject {
  return {
    apiVersion,
    kind: 'VirtualMachineInstanceMigration',
    metadata: {
      generateName: 'kubevirt-evacuation-',
      namespace: vmi.metadata.namespace ?? '',
      annotations: { [annotations.evacuation]: node },
      labels: { [labels.instanceOfMigration]: vmi.metadata.name },
      finalizers: [finalizers.migration],
    },
    spec: { vmiName: vmi.metadata.name },
  };
}

/** Returns the number of further migrations that the limits allow. */
function freeSpots({ store }: Cluster, node: string): number {
  const active = store.list(migrations).filter(isActive);
  const vmiOf = (one: Stored): Stored | undefined =>
    store.get(instances, one.metadata.namespace ?? '', text(one, 'spec', 'vmiName'));
  const outbound = active.filter(one => {
    const vmi = vmiOf(one);
    return vmi !== undefined && nodeOf(vmi) === node;
  });
  const limits = limitsOf(store);
  return Math.min(limits.cluster - active.length, limits.outbound - outbound.length);
}

function move(cluster: Cluster, vmi: Stored, node: string): void {
  const written = cluster.writes.create(migrations, migrationFor(vmi, node));
  const about = { resource: instances, object: vmi };
  const by = 'disruptionbudget-controller';
  if (written.kind === 'stored') {
    const message = `Created Migration ${written.object.metadata.name}`;
    cluster.record({ by, about, type: 'Normal', reason: 'SuccessfulCreate', message });
  } else
    cluster.record({
      by,
      about,
      type: 'Warning',
      reason: 'FailedCreate',
      message: `Error creating a Migration: ${written.message}`,
    });
}

function reconcileEvacuation(name: string, cluster: Cluster): number | undefined {
  const { store } = cluster;
  const node = store.get('nodes', '', name);
  if (node === undefined) return undefined;
  const wanted = instancesOn(cluster, name).filter(vmi => isToMove(cluster, vmi, node));
  const idle = wanted.filter(vmi => !migrationsOf(store, vmi).some(isUnfinished));
  // Pods of an earlier migration must end first.
  const candidates = idle.filter(
    vmi => launchersOf(cluster, vmi).filter(pod => !isFinished(pod)).length === 1,
  );
  if (candidates.length === 0) return idle.length > 0 ? heartbeatMs : undefined;
  const spots = hasQueue(store) ? candidates.length : freeSpots(cluster, name);
  for (const vmi of candidates.slice(0, Math.max(0, spots))) move(cluster, vmi, name);
  return spots < candidates.length ? busyMs : undefined;
}

const evacuationController: Controller = {
  name: 'evacuation-controller',
  keysOf: nodesToEvacuate,
  reconcile: reconcileEvacuation,
};

/**
 * A KubeVirt for an embedded cluster, modelled on the observed behavior of the real one:
 * test/kubevirt checks both with the same cases.
 */

type Part = 'virt-api' | 'virt-controller';

/** Default durations: a fixed part of two seconds, and the memory at 512 MiB/s. */
const defaultPace: MigrationPace = { baseMs: 2000, perGiMs: 2000 };

/** Requeue delay of an absent controller, in milliseconds. */
const awayMs = 1000;

const refusedConnection = 'dial tcp 127.0.0.1:443: connect: connection refused';

export class SimulatedKubeVirt {
  readonly #away = new Set<Part>();
  readonly #pace: MigrationPace;

  constructor(pace: MigrationPace = defaultPace) {
    this.#pace = pace;
  }

  /** Removes a component, as when its pods are gone, or restores it. */
  set(part: Part, isThere: boolean): void {
    if (isThere) this.#away.delete(part);
    else this.#away.add(part);
  }

  /** Returns virt-api, for `ClusterOptions.extensions`. */
  extension(): Extension {
    return {
      group: 'subresources.kubevirt.io',
      service: { namespace: home, name: 'virt-api' },
      answer: (registry, request) =>
        this.#away.has('virt-api')
          ? plain(503, `error trying to reach service: ${refusedConnection}\n`)
          : serve(registry, request),
      review: (registry, path, asked) => {
        if (!this.#away.has('virt-api')) return review(registry, path, asked);
        throw new Error(
          `Post "https://virt-api.${home}.svc:443${path}?timeout=10s": ${refusedConnection}`,
        );
      },
    };
  }

  /**
   * Returns virt-controller and the components on nodes, for `RuntimeOptions.more`. New ones for
   * each start.
   */
  controllers(): readonly Controller[] {
    // Migrations first: the limits depend on those that have started.
    const own = [machineController, instanceController, migrationController, evacuationController];
    return [
      ...own.map(controller => this.#present(controller)),
      new Handler(this.#pace).controller(),
    ];
  }

  /** Wraps a controller: after an absence it handles the changes made meanwhile. */
  #present(controller: Controller): Controller {
    return {
      ...controller,
      reconcile: (key, cluster) =>
        this.#away.has('virt-controller') ? awayMs : controller.reconcile(key, cluster),
    };
  }
}
