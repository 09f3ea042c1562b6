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

export const phaseOf = (object: Stored): string => text(object, 'status', 'phase');

/** Returns the node of the VM. */
export const nodeOf = (vmi: Stored): string => text(vmi, 'status', 'nodeName');

/** Returns the node that it is to leave; empty without a mark. */
export const markOf = (vmi: Stored): string => text(vmi, 'status', 'evacuationNodeName');

export const migrationStateOf = (vmi: Stored): JsonObject => part(vmi, 'status', 'migrationState');

export const conditionOf = (object: Stored, type: string): JsonObject | undefined =>
  objects(at(object, 'status', 'conditions')).find(one => one['type'] === type);

export const isMigratable = (vmi: Stored): boolean => conditionOf(vmi, 'LiveMigratable')?.['status'] === 'True';

/** Returns whether it has ended, so that only another one with its name can run again. */
export const isFinal = (object: Stored): boolean => ['Succeeded', 'Failed'].includes(phaseOf(object));

export const isUp = (vmi: Stored): boolean => ['Scheduled', 'Running'].includes(phaseOf(vmi));

/** Returns the CR's configuration. There is one CR; missing values have KubeVirt's defaults. */
const configurationOf = (store: Store): JsonObject => part(store.list(kubeVirts, home)[0], 'spec', 'configuration');

export const limitsOf = (store: Store): { readonly cluster: number; readonly outbound: number } => {
  const said = part(configurationOf(store), 'migrations');
  const number = (name: string, usual: number): number => (typeof said[name] === 'number' ? said[name] : usual);
  return { cluster: number('parallelMigrationsPerCluster', 5), outbound: number('parallelOutboundMigrationsPerNode', 2) };
};

/**
 * Returns whether the queue is enabled: then every marked VM has its migration at once, as always
 * from version 1.9 on; the migrations wait for each other.
 */
export const hasQueue = (store: Store): boolean =>
  items(at(configurationOf(store), 'developerConfiguration', 'featureGates')).includes('MigrationPriorityQueue');

/** Returns the VM's own strategy, else the cluster's. */
export const strategyOf = (store: Store, vmi: Stored): string =>
  text(vmi, 'spec', 'evictionStrategy') || text(configurationOf(store), 'evictionStrategy') || 'None';

export const hasDrainTaint = (node: Stored): boolean =>
  objects(at(node, 'spec', 'taints')).some(({ key, effect }) => key === drainTaint && effect === 'NoSchedule');

const isLauncher = ({ metadata }: Stored): boolean => strings(metadata.labels)[labels.launcher] === 'virt-launcher';

/** Returns the launcher pods of a VM, in any state. */
export const launchersOf = ({ store }: Cluster, vmi: Stored): readonly Stored[] =>
  store.indexed('pods', 'owner', vmi.metadata.uid).filter(isLauncher);

/** Returns the VMs that run on a node. */
export const instancesOn = ({ store }: Cluster, node: string): readonly Stored[] => {
  const launchers = store.indexed('pods', 'spec.nodeName', node).filter(isLauncher);
  const names = new Set(
    launchers.map(({ metadata }) => `${metadata.namespace ?? ''}/${strings(metadata.annotations)[annotations.domain] ?? ''}`),
  );
  return [...names]
    .map(key => store.get(instances, ...split(key)))
    .filter(vmi => vmi !== undefined)
    .filter(vmi => nodeOf(vmi) === node);
};

/** Returns the migrations of a VM. */
export const migrationsOf = (store: Store, vmi: Stored): readonly Stored[] =>
  store.list(migrations, vmi.metadata.namespace ?? '').filter(one => text(one, 'spec', 'vmiName') === vmi.metadata.name);

/** Returns whether a migration has not ended. */
export const isUnfinished = (migration: Stored): boolean => !isFinal(migration);

/** Returns whether a migration counts for the limits: it has at least a target pod. */
export const isActive = (migration: Stored): boolean => !['', 'Pending', 'Succeeded', 'Failed'].includes(phaseOf(migration));
