import { type Cluster, type Controller, keyOf, split } from '../controllers/controller.ts';
import { controllerOf, controllerReference, isDeleting } from '../controllers/pods.ts';
import { report } from '../controllers/workload.ts';
import { at, objects, part, type Stored, strings, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import { apiVersion, conditionOf, instances, isFinal, machines, phaseOf } from './words.ts';

/** The part of virt-controller that restarts VMs. Upstream: pkg/virt-controller/watch/vm. */

function keysOf({ resource, object }: StoreChange): readonly string[] {
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

function reconcile(key: string, cluster: Cluster): undefined {
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

export const machineController: Controller = {
  name: 'virtualmachine-start-controller',
  keysOf,
  reconcile,
};
