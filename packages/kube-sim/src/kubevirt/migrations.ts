import type { JsonObject } from '@drydock/apimachinery';
import {
  type Cluster,
  type Controller,
  isDeleting,
  isFinished,
  isReady,
  keyOf,
  nodeOf as podNodeOf,
  phaseOf as podPhaseOf,
  split,
} from '../controllers/controller.ts';
import { at, objects, part, type Stored, strings, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import {
  annotations,
  drainTaint,
  finalizers,
  hasQueue,
  instances,
  isActive,
  isFinal,
  isUnfinished,
  labels,
  launchersOf,
  limitsOf,
  migrationStateOf,
  migrations,
  migrationsOf,
  nodeOf,
  phaseOf,
} from './words.ts';
import { entered, launcherFor, writeInstance, writeMigration } from './writing.ts';

/**
 * The part of virt-controller that leads a migration through its phases. Upstream:
 * pkg/virt-controller/watch/migration, v1.7.
 */

/**
 * Requeue delays of a migration that has to wait for others, in milliseconds; shorter with the
 * queue.
 */
const busyMs = 5000;
const queuedMs = 1000;
const firstBackoffMs = 20_000;
/**
 * Milliseconds after which an unschedulable target pod is given up, and one that is pending for
 * another reason.
 */
const unschedulableMs = 5 * 60_000;
const pendingMs = 15 * 60_000;
/** Number of ended migrations of a VM that are kept. */
const kept = 5;

function keysOf({ resource, type, object }: StoreChange, { store }: Cluster): readonly string[] {
  const { namespace = '' } = object.metadata;
  if (resource === migrations) return [keyOf(object)];
  if (resource === instances)
    return migrationsOf(store, object)
      .filter(one => type === 'removed' || isUnfinished(one))
      .map(keyOf);
  const name =
    resource === 'pods' ? object.metadata.annotations?.[annotations.migrationName] : undefined;
  return name === undefined ? [] : [`${namespace}/${name}`];
}

function enter(cluster: Cluster, migration: Stored, phase: string, more: JsonObject = {}): Stored {
  return writeMigration(cluster, migration, {
    status: { ...entered(cluster, migration, phase), ...more },
  });
}

function targetOf(cluster: Cluster, vmi: Stored, { metadata }: Stored): Stored | undefined {
  return launchersOf(cluster, vmi).find(
    pod => strings(pod.metadata.labels)[labels.migrationUid] === metadata.uid,
  );
}

function timeOf(migration: Stored, phase: string): number {
  return Date.parse(
    text(
      objects(at(migration, 'status', 'phaseTransitionTimestamps')).find(
        one => one['phase'] === phase,
      ),
      'phaseTransitionTimestamp',
    ),
  );
}

/** Returns the rest of the backoff after failures: 20 s, doubled by each further one in a row. */
function backoffMs(cluster: Cluster, vmi: Stored, migration: Stored): number {
  if (strings(migration.metadata.annotations)[annotations.evacuation] === undefined) return 0;
  const ended = migrationsOf(cluster.store, vmi).filter(one => isFinal(one) && !isDeleting(one));
  const youngestFirst = ended.toSorted((one, other) => endOf(other) - endOf(one));
  const success = youngestFirst.findIndex(one => phaseOf(one) === 'Succeeded');
  const failures = success < 0 ? youngestFirst : youngestFirst.slice(0, success);
  const [last] = failures;
  return last === undefined
    ? 0
    : endOf(last) + firstBackoffMs * 2 ** (failures.length - 1) - cluster.nowMs();
}

function endOf(migration: Stored): number {
  return timeOf(migration, phaseOf(migration));
}

function isCrowded({ store }: Cluster, vmi: Stored): boolean {
  const active = store.list(migrations).filter(isActive);
  const sources = active.map(one =>
    store.get(instances, one.metadata.namespace ?? '', text(one, 'spec', 'vmiName')),
  );
  const limits = limitsOf(store);
  return (
    active.length >= limits.cluster ||
    sources.filter(one => one !== undefined && nodeOf(one) === nodeOf(vmi)).length >=
      limits.outbound
  );
}

/** Creates the target pod when the limits allow it. */
function schedule(cluster: Cluster, migration: Stored, vmi: Stored): number | undefined {
  const pause = backoffMs(cluster, vmi, migration);
  if (pause > 0) return pause;
  if (isCrowded(cluster, vmi)) return hasQueue(cluster.store) ? queuedMs : busyMs;
  const source = launchersOf(cluster, vmi).find(
    pod => podNodeOf(pod) === nodeOf(vmi) && !isFinished(pod),
  );
  if (source === undefined) return busyMs;
  if (targetOf(cluster, vmi, migration) === undefined)
    cluster.writes.create('pods', launcherFor(vmi, migration));
  enter(cluster, migration, 'Scheduling', { migrationState: { sourcePod: source.metadata.name } });
  return undefined;
}

function isUnschedulable(pod: Stored): boolean {
  return objects(at(pod, 'status', 'conditions')).some(
    ({ type, reason }) => type === 'PodScheduled' && reason === 'Unschedulable',
  );
}

function awaitTarget(cluster: Cluster, migration: Stored, vmi: Stored): number | undefined {
  const target = targetOf(cluster, vmi, migration);
  if (target === undefined || isFinished(target) || isDeleting(target)) {
    enter(cluster, migration, 'Failed');
    return undefined;
  }
  if (podPhaseOf(target) === 'Running') {
    if (isReady(target)) enter(cluster, migration, 'Scheduled');
    return undefined;
  }
  const left =
    Date.parse(target.metadata.creationTimestamp) +
    (isUnschedulable(target) ? unschedulableMs : pendingMs) -
    cluster.nowMs();
  if (left > 0) return left;
  cluster.writes.remove('pods', target.metadata.namespace ?? '', target.metadata.name, {
    uid: target.metadata.uid,
  });
  enter(cluster, migration, 'Failed');
  return undefined;
}

function settingsOf({ store }: Cluster): JsonObject {
  const { cluster, outbound } = limitsOf(store);
  return {
    parallelMigrationsPerCluster: cluster,
    parallelOutboundMigrationsPerNode: outbound,
    completionTimeoutPerGiB: 150,
    progressTimeout: 150,
    nodeDrainTaintKey: drainTaint,
  };
}

/** Hands the migration over to the nodes. */
function handOver(cluster: Cluster, migration: Stored, vmi: Stored): void {
  const target = targetOf(cluster, vmi, migration);
  if (target === undefined) return void enter(cluster, migration, 'Failed');
  writeInstance(cluster, vmi, {
    labels: { [labels.targetNode]: podNodeOf(target) },
    status: {
      migrationState: {
        migrationUid: migration.metadata.uid,
        sourceNode: nodeOf(vmi),
        sourcePod: text(migration, 'status', 'migrationState', 'sourcePod'),
        targetNode: podNodeOf(target),
        targetPod: target.metadata.name,
        migrationConfiguration: settingsOf(cluster),
      },
    },
  });
  enter(cluster, migration, 'PreparingTarget');
}

/** Follows the state that the nodes write. */
function accompany(cluster: Cluster, migration: Stored, vmi: Stored): void {
  const state = migrationStateOf(vmi);
  if (text(state, 'migrationUid') !== migration.metadata.uid)
    return void enter(cluster, migration, 'Failed');
  if (state['completed'] === true && state['failed'] === true)
    enter(cluster, migration, 'Failed', { migrationState: state });
  else if (phaseOf(migration) === 'PreparingTarget') {
    if (text(state, 'targetNodeAddress') !== '') enter(cluster, migration, 'TargetReady');
  } else if (phaseOf(migration) === 'TargetReady') {
    if (text(state, 'startTimestamp') !== '') enter(cluster, migration, 'Running');
  } else if (state['completed'] === true)
    enter(cluster, migration, 'Succeeded', { migrationState: state });
}

/** Aborts a deleted migration; one that has not been handed over is dropped. */
function abort(cluster: Cluster, migration: Stored, vmi: Stored): void {
  const state = migrationStateOf(vmi);
  const isHandedOver = text(state, 'migrationUid') === migration.metadata.uid;
  if (isHandedOver && state['completed'] !== true) {
    writeInstance(cluster, vmi, { status: { migrationState: { ...state, abortRequested: true } } });
    return;
  }
  const target = targetOf(cluster, vmi, migration);
  if (target !== undefined && !isFinished(target) && !isHandedOver)
    cluster.writes.remove('pods', target.metadata.namespace ?? '', target.metadata.name, {
      uid: target.metadata.uid,
    });
  enter(cluster, migration, 'Failed', {
    migrationState: isHandedOver ? state : part(migration, 'status', 'migrationState'),
  });
}

/** Finalizes an ended migration, and deletes the oldest of its VM. */
function conclude(cluster: Cluster, migration: Stored): void {
  const { namespace = '' } = migration.metadata;
  const left = (migration.metadata.finalizers ?? []).filter(one => one !== finalizers.migration);
  writeMigration(cluster, migration, { finalizers: left });
  const siblings = cluster.store
    .list(migrations, namespace)
    .filter(one => isFinal(one) && sameVm(one, migration));
  const oldestFirst = siblings.toSorted((one, other) => endOf(one) - endOf(other));
  for (const { metadata } of oldestFirst.slice(0, Math.max(0, siblings.length - kept))) {
    if (metadata.deletionTimestamp === undefined)
      cluster.writes.remove(migrations, namespace, metadata.name, { uid: metadata.uid });
  }
}

function sameVm(one: Stored, other: Stored): boolean {
  return text(one, 'spec', 'vmiName') === text(other, 'spec', 'vmiName');
}

/** Deletes a migration whose VM is gone. */
function forget(cluster: Cluster, migration: Stored): void {
  const { namespace = '', name, uid, finalizers: own = [] } = migration.metadata;
  writeMigration(cluster, migration, {
    finalizers: own.filter(one => one !== finalizers.migration),
  });
  cluster.writes.remove(migrations, namespace, name, { uid });
}

function admit(cluster: Cluster, migration: Stored, vmi: Stored): number | undefined {
  const known = writeMigration(cluster, migration, {
    labels: { [labels.instanceOfMigration]: text(migration, 'spec', 'vmiName') },
    finalizers: [...new Set([...(migration.metadata.finalizers ?? []), finalizers.migration])],
  });
  return schedule(cluster, enter(cluster, known, 'Pending'), vmi);
}

function lead(cluster: Cluster, migration: Stored, vmi: Stored): number | undefined {
  const phase = phaseOf(migration);
  if (phase === 'Pending') return schedule(cluster, migration, vmi);
  if (phase === 'Scheduling') return awaitTarget(cluster, migration, vmi);
  if (phase === 'Scheduled') handOver(cluster, migration, vmi);
  else accompany(cluster, migration, vmi);
  return undefined;
}

function reconcile(key: string, cluster: Cluster): number | undefined {
  const [namespace, name] = split(key);
  const migration = cluster.store.get(migrations, namespace, name);
  if (migration === undefined) return undefined;
  const vmi = cluster.store.get(instances, namespace, text(migration, 'spec', 'vmiName'));
  if (vmi === undefined) forget(cluster, migration);
  else if (isFinal(migration)) conclude(cluster, migration);
  else if (isFinal(vmi)) enter(cluster, migration, 'Failed');
  else if (isDeleting(migration)) abort(cluster, migration, vmi);
  else
    return phaseOf(migration) === ''
      ? admit(cluster, migration, vmi)
      : lead(cluster, migration, vmi);
  return undefined;
}

export const migrationController: Controller = {
  name: 'virtualmachineinstancemigration-controller',
  keysOf,
  reconcile,
};
