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
  nodeOf,
  phaseOf,
  strategyOf,
} from './words.ts';
import {
  entered,
  launcherFor,
  memoryOf,
  withoutThis,
  withThis,
  writeInstance,
  writePod,
} from './writing.ts';

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
