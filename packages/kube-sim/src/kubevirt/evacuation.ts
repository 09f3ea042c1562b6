import type { JsonObject } from '@drydock/apimachinery';
import type { Cluster, Controller } from '../controllers/controller.ts';
import { isDeleting, isFinished } from '../controllers/pods.ts';
import { type Stored, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import {
  annotations,
  apiVersion,
  finalizers,
  hasDrainTaint,
  hasQueue,
  instances,
  instancesOn,
  isActive,
  isFinal,
  isMigratable,
  isUnfinished,
  labels,
  launchersOf,
  limitsOf,
  markOf,
  migrations,
  migrationsOf,
  nodeOf,
  strategyOf,
} from './words.ts';

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

function keysOf({ resource, object }: StoreChange, { store }: Cluster): readonly string[] {
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

function reconcile(name: string, cluster: Cluster): number | undefined {
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

export const evacuationController: Controller = {
  name: 'evacuation-controller',
  keysOf,
  reconcile,
};
