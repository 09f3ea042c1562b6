import type { JsonObject } from '@drydock/apimachinery';
import {
  type Cluster,
  type Controller,
  isActive,
  isDeleting,
  isFinished,
  isReady,
  keyOf,
  nodeOf as podNodeOf,
  phaseOf as podPhaseOf,
  split,
  timeText,
} from '../controllers/controller.ts';
import { type Stored, strings, text } from '../object.ts';
import type { StoreChange } from '../store/store.ts';
import {
  annotations,
  conditionOf,
  finalizers,
  instances,
  isFinal,
  isUp,
  labels,
  launchersOf,
  markOf,
  migrationStateOf,
  nodeOf,
  phaseOf,
  strategyOf,
} from './words.ts';
import {
  endPod,
  entered,
  launcherFor,
  memoryOf,
  withoutThis,
  withThis,
  writeInstance,
  writePod,
} from './writing.ts';

/**
 * Simulates virt-handler and virt-launcher on nodes: VMs run, and migrate from one launcher to
 * another.
 */

/** Duration of a migration: a fixed part, and a part for the memory. */
export type MigrationPace = { readonly baseMs: number; readonly perGiMs: number };

const gibi = 2 ** 30;

type MigrationCourse = { readonly kind: 'lasts' | 'fail' | 'hang'; readonly ms: number };

function courseOf(vmi: Stored, { baseMs, perGiMs }: MigrationPace): MigrationCourse {
  const said = strings(vmi.metadata.annotations)[annotations.migration] ?? '';
  const usualMs = baseMs + (memoryOf(vmi) / gibi) * perGiMs;
  if (said === 'hang' || said === 'fail') return { kind: said, ms: usualMs };
  const seconds = /^([\d.]+)s$/.exec(said)?.[1];
  return { kind: 'lasts', ms: seconds === undefined ? usualMs : Number(seconds) * 1000 };
}

function keysOf({ resource, object }: StoreChange): readonly string[] {
  if (resource === instances) return [`vmi ${keyOf(object)}`];
  if (resource === 'nodes') return [`node /${object.metadata.name}`];
  const domain =
    resource === 'pods' ? object.metadata.annotations?.[annotations.domain] : undefined;
  return domain === undefined ? [] : [`vmi ${object.metadata.namespace ?? ''}/${domain}`];
}

/** Labels a node that can run VMs. */
function label(cluster: Cluster, name: string): void {
  const node = cluster.store.get('nodes', '', name);
  if (
    node === undefined ||
    isDeleting(node) ||
    strings(node.metadata.labels)[labels.schedulable] !== undefined
  )
    return;
  const own = { ...strings(node.metadata.labels), [labels.schedulable]: 'true' };
  cluster.writes.update('nodes', { ...node, metadata: { ...node.metadata, labels: own } });
}

const unshared = {
  reason: 'DisksNotLiveMigratable',
  message: 'cannot migrate VMI: PVC disk is not shared',
};

function run(cluster: Cluster, vmi: Stored): void {
  const isMigratable = strings(vmi.metadata.annotations)[annotations.migratable] !== 'false';
  const condition = {
    type: 'LiveMigratable',
    status: isMigratable ? 'True' : 'False',
    ...(!isMigratable && unshared),
  };
  const conditions = [...withThis(cluster, vmi, condition)];
  writeInstance(cluster, vmi, { status: { ...entered(cluster, vmi, 'Running'), conditions } });
}

function now(cluster: Cluster): string {
  return timeText(cluster.nowMs());
}

function say(cluster: Cluster, vmi: Stored, state: JsonObject, more: JsonObject = {}): Stored {
  return writeInstance(cluster, vmi, {
    status: { ...more, migrationState: { ...migrationStateOf(vmi), ...state } },
  });
}

function fail(cluster: Cluster, vmi: Stored, more: JsonObject): void {
  const { namespace = '' } = vmi.metadata;
  const targetPod = text(migrationStateOf(vmi), 'targetPod');
  say(cluster, vmi, { endTimestamp: now(cluster), completed: true, failed: true, ...more });
  endPod(cluster, namespace, targetPod, 'Failed');
}

/** Completes a migration: the VM runs in the target, and its mark is removed. */
function arrive(cluster: Cluster, vmi: Stored): void {
  const state = migrationStateOf(vmi);
  const [target, sourcePod] = [text(state, 'targetNode'), text(state, 'sourcePod')];
  writeInstance(cluster, vmi, {
    labels: { [labels.nodeName]: target },
    status: {
      nodeName: target,
      evacuationNodeName: undefined,
      conditions: [...withoutThis(vmi, 'EvictionRequested')],
      migrationState: {
        ...state,
        endTimestamp: now(cluster),
        completed: true,
        failed: false,
        targetNodeDomainDetected: true,
      },
    },
  });
  endPod(cluster, vmi.metadata.namespace ?? '', sourcePod, 'Succeeded');
}

/**
 * Simulates the nodes' side. Remembers the start of migrations, because the API has whole seconds
 * only.
 */
export class Handler {
  readonly #pace: MigrationPace;
  readonly #starts = new Map<string, number>();

  constructor(pace: MigrationPace) {
    this.#pace = pace;
  }

  controller(): Controller {
    return {
      name: 'virt-handler',
      keysOf,
      reconcile: (key, cluster) => this.#reconcile(key, cluster),
    };
  }

  #reconcile(key: string, cluster: Cluster): number | undefined {
    const [kind = '', object = ''] = key.split(' ');
    const [namespace, name] = split(object);
    if (kind === 'node') {
      label(cluster, name);
      return undefined;
    }
    const vmi = cluster.store.get(instances, namespace, name);
    if (vmi === undefined || !isUp(vmi)) return undefined;
    const own = launchersOf(cluster, vmi).find(
      pod => podNodeOf(pod) === nodeOf(vmi) && !isFinished(pod),
    );
    if (isDeleting(vmi) || (own !== undefined && isDeleting(own))) {
      writeInstance(cluster, vmi, { status: entered(cluster, vmi, 'Succeeded') });
      return undefined;
    }
    if (phaseOf(vmi) === 'Scheduled' || conditionOf(vmi, 'LiveMigratable') === undefined) {
      run(cluster, vmi);
      return undefined;
    }
    return this.#migrate(cluster, vmi);
  }

  #migrate(cluster: Cluster, vmi: Stored): number | undefined {
    const state = migrationStateOf(vmi);
    const uid = text(state, 'migrationUid');
    if (uid === '' || text(state, 'targetNode') === '' || state['completed'] === true)
      return undefined;
    const target = cluster.store.get(
      'pods',
      vmi.metadata.namespace ?? '',
      text(state, 'targetPod'),
    );
    if (state['abortRequested'] === true) {
      const startTimestamp = text(state, 'startTimestamp') || now(cluster);
      fail(cluster, vmi, {
        abortStatus: 'Succeeded',
        startTimestamp,
        failureReason: 'Live migration has been aborted',
      });
    } else if (target === undefined || isFinished(target) || isDeleting(target)) {
      fail(cluster, vmi, { failureReason: 'target pod is down' });
    } else if (text(state, 'targetNodeAddress') === '') {
      say(cluster, vmi, {
        targetNodeAddress: '10.9.9.9',
        targetDirectMigrationNodePorts: { '49152': 0 },
      });
    } else if (text(state, 'startTimestamp') === '') {
      this.#starts.set(uid, cluster.nowMs());
      say(cluster, vmi, { startTimestamp: now(cluster), mode: 'PreCopy' });
    } else return this.#proceed(cluster, vmi, uid);
    return undefined;
  }

  #proceed(cluster: Cluster, vmi: Stored, uid: string): number | undefined {
    const { kind, ms } = courseOf(vmi, this.#pace);
    if (kind === 'hang') return undefined;
    const began =
      this.#starts.get(uid) ?? Date.parse(text(migrationStateOf(vmi), 'startTimestamp'));
    const left = began + ms - cluster.nowMs();
    if (left > 0) return left;
    this.#starts.delete(uid);
    if (kind === 'fail') fail(cluster, vmi, { failureReason: 'Live migration failed' });
    else arrive(cluster, vmi);
    return undefined;
  }
}

/**
 * The part of virt-controller that creates launcher pods and writes the location of VMs. Upstream:
 * pkg/virt-controller/watch/vmi.
 */

function instanceKeys({ resource, object }: StoreChange): readonly string[] {
  if (resource === instances) return [keyOf(object)];
  const domain =
    resource === 'pods' ? object.metadata.annotations?.[annotations.domain] : undefined;
  return domain === undefined ? [] : [`${object.metadata.namespace ?? ''}/${domain}`];
}

/** Returns every pod of the VM, with its node. */
function activePods(cluster: Cluster, vmi: Stored): JsonObject {
  return Object.fromEntries(
    launchersOf(cluster, vmi).map(pod => [pod.metadata.uid, podNodeOf(pod)]),
  );
}

const notRunning = {
  type: 'Ready',
  status: 'False',
  reason: 'GuestNotRunning',
  message: 'Guest VM is not reported as running',
};

function begin(cluster: Cluster, vmi: Stored): void {
  const pending = writeInstance(cluster, vmi, {
    finalizers: [...new Set([...(vmi.metadata.finalizers ?? []), finalizers.instance])],
    // The real one sets it when the VM is created; its own value stays.
    spec: { evictionStrategy: strategyOf(cluster.store, vmi) },
    status: {
      ...entered(cluster, vmi, 'Pending'),
      conditions: [...withThis(cluster, vmi, notRunning)],
    },
  });
  cluster.writes.create('pods', launcherFor(pending));
}

/** Waits for the launcher, which is created once: if it ends before the VM runs, the VM fails. */
function awaitPod(cluster: Cluster, vmi: Stored): void {
  const [pod] = launchersOf(cluster, vmi);
  if (pod === undefined || isFinished(pod)) {
    writeInstance(cluster, vmi, {
      status: { activePods: activePods(cluster, vmi), ...entered(cluster, vmi, 'Failed') },
    });
    return;
  }
  const scheduling = writeInstance(cluster, vmi, {
    status: { activePods: activePods(cluster, vmi), ...entered(cluster, vmi, 'Scheduling') },
  });
  if (podPhaseOf(pod) !== 'Running' || !isReady(pod) || isDeleting(pod)) return;
  const guest = text(vmi, 'spec', 'domain', 'memory', 'guest') || String(memoryOf(vmi));
  writeInstance(cluster, scheduling, {
    labels: { [labels.nodeName]: podNodeOf(pod) },
    status: {
      ...entered(cluster, scheduling, 'Scheduled'),
      nodeName: podNodeOf(pod),
      memory: { guestAtBoot: guest, guestCurrent: guest, guestRequested: guest },
    },
  });
}

const evictionRequested = {
  type: 'EvictionRequested',
  status: 'True',
  reason: 'EvictionRequested',
  message: 'VMI is marked for eviction',
};

/** Shows the mark in a condition of the VM, and in its pod. */
function showMark(cluster: Cluster, vmi: Stored, own: Stored): Stored {
  const isMarked = markOf(vmi) !== '';
  const shown = strings(own.metadata.annotations)[annotations.evictionInProgress];
  if (isMarked && shown === undefined)
    writePod(cluster, own, { annotations: { [annotations.evictionInProgress]: 'true' } });
  if (!isMarked && shown !== undefined)
    writePod(cluster, own, { annotations: { [annotations.evictionInProgress]: undefined } });
  if (isMarked === (conditionOf(vmi, evictionRequested.type) !== undefined)) return vmi;
  const conditions = isMarked
    ? withThis(cluster, vmi, evictionRequested)
    : withoutThis(vmi, evictionRequested.type);
  return writeInstance(cluster, vmi, { status: { conditions: [...conditions] } });
}

function follow(cluster: Cluster, vmi: Stored): void {
  const own = launchersOf(cluster, vmi).find(
    pod => podNodeOf(pod) === nodeOf(vmi) && !isFinished(pod),
  );
  if (own === undefined) {
    writeInstance(cluster, vmi, {
      status: { activePods: activePods(cluster, vmi), ...entered(cluster, vmi, 'Failed') },
    });
    return;
  }
  const now = showMark(cluster, vmi, own);
  const isGuestUp = phaseOf(now) === 'Running' && isReady(own);
  const ready = isGuestUp ? { type: 'Ready', status: 'True' } : notRunning;
  writeInstance(cluster, now, {
    status: {
      activePods: activePods(cluster, now),
      conditions: [...withThis(cluster, now, ready)],
    },
  });
}

/** Deletes the launchers of a VM that has ended, or is being deleted. */
function end(cluster: Cluster, vmi: Stored): void {
  const pods = launchersOf(cluster, vmi);
  for (const { metadata } of pods.filter(isActive)) {
    cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, { uid: metadata.uid });
  }
  if (pods.some(pod => !isFinished(pod))) return;
  const ended = isFinal(vmi)
    ? vmi
    : writeInstance(cluster, vmi, { status: entered(cluster, vmi, 'Succeeded') });
  if (!isDeleting(ended)) return;
  const left = (ended.metadata.finalizers ?? []).filter(one => one !== finalizers.instance);
  writeInstance(cluster, ended, { finalizers: left });
}

function reconcileInstance(key: string, cluster: Cluster): undefined {
  const vmi = cluster.store.get(instances, ...split(key));
  if (vmi === undefined) return;
  if (isDeleting(vmi) || isFinal(vmi)) end(cluster, vmi);
  else if (phaseOf(vmi) === '') begin(cluster, vmi);
  else if (isUp(vmi)) follow(cluster, vmi);
  else awaitPod(cluster, vmi);
}

export const instanceController: Controller = {
  name: 'virtualmachine-controller',
  keysOf: instanceKeys,
  reconcile: reconcileInstance,
};
