import type { JsonObject } from '@drydock/apimachinery';
import { type Cluster, split } from '../controllers/controller.ts';
import { at, items, objects, part, type Stored, strings, text } from '../object.ts';
import type { Store } from '../store/store.ts';

/** Names that KubeVirt uses, and readers of its objects. */

export const group = 'kubevirt.io';
export const apiVersion = `${group}/v1`;

/** Namespace of KubeVirt itself. */
export const home = 'kubevirt';

export const machines = `virtualmachines.${group}`;
export const instances = `virtualmachineinstances.${group}`;
export const migrations = `virtualmachineinstancemigrations.${group}`;
const kubeVirts = `kubevirts.${group}`;

export const labels = {
  launcher: group,
  createdBy: `${group}/created-by`,
  nodeName: `${group}/nodeName`,
  targetNode: `${group}/migrationTargetNodeName`,
  migrationUid: `${group}/migrationJobUID`,
  instanceOfMigration: `${group}/vmi-name`,
  schedulable: `${group}/schedulable`,
} as const;

export const annotations = {
  domain: `${group}/domain`,
  migrationName: `${group}/migrationJobName`,
  evacuation: `${group}/evacuationMigration`,
  evictionInProgress: 'descheduler.alpha.kubernetes.io/eviction-in-progress',
  /** Annotation that controls a migration: `6s` is its duration; `fail`, `hang`. */
  migration: 'drydock.test/migration',
  /** Annotation whose value `false` makes the VM non-migratable. */
  migratable: 'drydock.test/migratable',
} as const;

export const finalizers = {
  instance: `${group}/foregroundDeleteVirtualMachine`,
  migration: `${group}/migrationJobFinalize`,
} as const;

export const drainTaint = `${group}/drain`;

export function phaseOf(object: Stored): string {
  return text(object, 'status', 'phase');
}

/** Returns the node of the VM. */
export function nodeOf(vmi: Stored): string {
  return text(vmi, 'status', 'nodeName');
}

/** Returns the node that it is to leave; empty without a mark. */
export function markOf(vmi: Stored): string {
  return text(vmi, 'status', 'evacuationNodeName');
}

export function migrationStateOf(vmi: Stored): JsonObject {
  return part(vmi, 'status', 'migrationState');
}

export function conditionOf(object: Stored, type: string): JsonObject | undefined {
  return objects(at(object, 'status', 'conditions')).find(one => one['type'] === type);
}

export function isMigratable(vmi: Stored): boolean {
  return conditionOf(vmi, 'LiveMigratable')?.['status'] === 'True';
}

/** Returns whether it has ended, so that only another one with its name can run again. */
export function isFinal(object: Stored): boolean {
  return ['Succeeded', 'Failed'].includes(phaseOf(object));
}

export function isUp(vmi: Stored): boolean {
  return ['Scheduled', 'Running'].includes(phaseOf(vmi));
}

/** Returns the CR's configuration. There is one CR; missing values have KubeVirt's defaults. */
function configurationOf(store: Store): JsonObject {
  return part(store.list(kubeVirts, home)[0], 'spec', 'configuration');
}

export function limitsOf(store: Store): { readonly cluster: number; readonly outbound: number } {
  const said = part(configurationOf(store), 'migrations');
  const number = (name: string, usual: number): number =>
    typeof said[name] === 'number' ? said[name] : usual;
  return {
    cluster: number('parallelMigrationsPerCluster', 5),
    outbound: number('parallelOutboundMigrationsPerNode', 2),
  };
}

/**
 * Returns whether the queue is enabled: then every marked VM has its migration at once, as always
 * from version 1.9 on; the migrations wait for each other.
 */
export function hasQueue(store: Store): boolean {
  return items(at(configurationOf(store), 'developerConfiguration', 'featureGates')).includes(
    'MigrationPriorityQueue',
  );
}

/** Returns the VM's own strategy, else the cluster's. */
export function strategyOf(store: Store, vmi: Stored): string {
  return (
    text(vmi, 'spec', 'evictionStrategy') ||
    text(configurationOf(store), 'evictionStrategy') ||
    'None'
  );
}

export function hasDrainTaint(node: Stored): boolean {
  return objects(at(node, 'spec', 'taints')).some(
    ({ key, effect }) => key === drainTaint && effect === 'NoSchedule',
  );
}

function isLauncher({ metadata }: Stored): boolean {
  return strings(metadata.labels)[labels.launcher] === 'virt-launcher';
}

/** Returns the launcher pods of a VM, in any state. */
export function launchersOf({ store }: Cluster, vmi: Stored): readonly Stored[] {
  return store.indexed('pods', 'owner', vmi.metadata.uid).filter(isLauncher);
}

/** Returns the VMs that run on a node. */
export function instancesOn({ store }: Cluster, node: string): readonly Stored[] {
  const launchers = store.indexed('pods', 'spec.nodeName', node).filter(isLauncher);
  const names = new Set(
    launchers.map(
      ({ metadata }) =>
        `${metadata.namespace ?? ''}/${strings(metadata.annotations)[annotations.domain] ?? ''}`,
    ),
  );
  return [...names]
    .map(key => store.get(instances, ...split(key)))
    .filter(vmi => vmi !== undefined)
    .filter(vmi => nodeOf(vmi) === node);
}

/** Returns the migrations of a VM. */
export function migrationsOf(store: Store, vmi: Stored): readonly Stored[] {
  return store
    .list(migrations, vmi.metadata.namespace ?? '')
    .filter(one => text(one, 'spec', 'vmiName') === vmi.metadata.name);
}

/** Returns whether a migration has not ended. */
export function isUnfinished(migration: Stored): boolean {
  return !isFinal(migration);
}

/** Returns whether a migration counts for the limits: it has at least a target pod. */
export function isActive(migration: Stored): boolean {
  return !['', 'Pending', 'Succeeded', 'Failed'].includes(phaseOf(migration));
}
