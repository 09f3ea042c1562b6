import { setTimeout as sleep } from 'node:timers/promises';
import type { Api } from '../../test/control-plane/objects/api.ts';
import {
  cordon,
  create,
  nodesReady,
  podPath,
  pods,
  podsReady,
} from '../../test/control-plane/objects/cluster.ts';
import { namespace, node, statefulSet } from '../../test/control-plane/objects/manifests.ts';

/**
 * A real cluster has a past: pods were started at different moments, and some were restarted. kwok
 * writes no events; a kubelet does when it ends a pod, so the bench writes that one in its place.
 */

const space = 'history';

/** Restarts, one after the other, at moments that do not fall on whole seconds. */
const pauseMs = 370;

function seconds(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}

/** Deletes every pod of a namespace once, and says so as its kubelet would. */
export async function restartAll(api: Api, space: string, count: number): Promise<void> {
  for (const { metadata } of await pods(api, space)) {
    const { name, uid } = metadata;
    await api.delete(podPath(space, name));
    const now = seconds();
    await api.post(`/api/v1/namespaces/${space}/events`, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name}.`, namespace: space },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', name, namespace: space, uid },
      reason: 'Killing',
      message: 'Stopping container main',
      type: 'Normal',
      source: { component: 'kubelet' },
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    });
    await sleep(pauseMs);
  }
  await podsReady(api, space, count, { deadlineMs: 60_000, everyMs: 200 });
}

/**
 * Eight pods that were started and restarted at different moments, on a node of their own that
 * takes nobody else afterwards.
 */
export async function makeHistory(api: Api): Promise<void> {
  await create(api, namespace(space), node('history-1'));
  await nodesReady(api, ['history-1'], { deadlineMs: 60_000 });
  await create(api, statefulSet('past', { namespace: space, replicas: 8 }));
  await podsReady(api, space, 8, { deadlineMs: 60_000, everyMs: 200 });
  await restartAll(api, space, 8);
  await cordon(api, 'history-1');
}
