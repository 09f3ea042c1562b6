import type { Api } from '../control-plane/objects/api.ts';
import { budgetAllows, create } from '../control-plane/objects/cluster.ts';
import { budget, type Manifest, namespace } from '../control-plane/objects/manifests.ts';
import type { List } from '../control-plane/objects/objects.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { makeNode, podAt, untilGone, untilPods } from '../operator/harness/look.ts';
import { collectionOfOld, type Old } from './old.ts';
import type { OldOperator } from './predecessor.ts';
import { type Left, leftOn, type Recording } from './recording.ts';

/** How an older operator is brought into each situation in which it may be replaced. */

export const situations = [
  'succeeded',
  'running',
  'deleted',
  'lingering',
  'shared',
  'orphaned',
] as const;
export type Situation = (typeof situations)[number];

/** Of whoever else waits for the object to go. */
export const foreignFinalizer = 'example.test/somebody-else';

/** What every node has of its own. */
export const own: Recording['before'] = {
  labels: { 'example.test/rack': 'a1' },
  taints: [{ key: 'example.test/dedicated', value: 'shop', effect: 'NoSchedule' }],
};

export function nodeOf(old: Old, situation: Situation): string {
  return `${old.short}-${situation}`;
}

/** Two objects share a node where the situation is about that. */
function objectsOf(old: Old, situation: Situation): readonly string[] {
  const name = nodeOf(old, situation);
  return situation === 'shared' || situation === 'orphaned' ? [`${name}-1`, `${name}-2`] : [name];
}

export function pathOfOld(old: Old, name: string): string {
  return `${collectionOfOld(old)}/${name}`;
}

export function maintenanceOf(
  old: Old,
  name: string,
  nodeName = name,
  finalizers: readonly string[] = [],
): Manifest {
  return {
    apiVersion: old.apiVersion,
    kind: 'NodeMaintenance',
    metadata: { name, ...(finalizers.length > 0 && { finalizers }) },
    spec: { nodeName, reason: 'a new disk' },
  };
}

/** Pods that come and go at once: nothing here is about how long that takes. */
export const atOnce: Readonly<Record<string, string>> = {
  'drydock.test/ready-after': '0.1s',
  'drydock.test/gone-after': '0.1s',
};

export function quickPod(nodeName: string, name: string): Manifest {
  return podAt(nodeName, name, { namespace: nodeName, annotations: atOnce });
}

/** The pod that its budget keeps where it is. */
export async function guardedPod(api: Api, nodeName: string): Promise<void> {
  await create(api, namespace(nodeName), quickPod(nodeName, 'guarded'));
  await create(api, budget('guarded', { namespace: nodeName, minAvailable: 1 }));
}

/** The budget lets the pod go. */
export async function relax(api: Api, nodeName: string): Promise<void> {
  await api.patch(`/apis/policy/v1/namespaces/${nodeName}/poddisruptionbudgets/guarded`, {
    spec: { minAvailable: 0 },
  });
}

async function arrangeNode(api: Api, old: Old, situation: Situation): Promise<void> {
  const name = nodeOf(old, situation);
  await makeNode(api, name, own);
  if (situation === 'running') await guardedPod(api, name);
  else await create(api, namespace(name));
  await create(api, quickPod(name, 'free'));
  await untilPods(api, name, situation === 'running' ? 2 : 1);
  if (situation === 'running') await budgetAllows(api, name, 'guarded', 0);
}

export function untilOld(
  api: Api,
  old: Old,
  name: string,
  phase: string,
  isWanted: (status: Left['status']) => boolean = () => true,
) {
  return waitFor(
    `${name} to be ${phase}`,
    async () => {
      const { status } = await api.get<Left>(pathOfOld(old, name));
      return status?.['phase'] === phase && isWanted(status)
        ? { done: status }
        : { yet: JSON.stringify(status) };
    },
    { deadlineMs: 90_000, everyMs: 100 },
  );
}

/** One after the other where there are two: the first finds the pods, the second an empty node. */
async function runThrough(api: Api, old: Old, situation: Situation): Promise<void> {
  const finalizers = situation === 'lingering' ? [foreignFinalizer] : [];
  for (const name of objectsOf(old, situation)) {
    await create(api, maintenanceOf(old, name, nodeOf(old, situation), finalizers));
    await untilOld(api, old, name, 'Succeeded');
  }
}

/**
 * Until nothing is written to any object any more: one that is deleted in the middle of a pass
 * makes them complain.
 */
export async function untilIdle(api: Api, old: Old, { idleAfterMs }: OldOperator): Promise<void> {
  const versions = async (): Promise<string> =>
    JSON.stringify(
      (await api.get<List<Left>>(collectionOfOld(old))).items.map(({ status }) => status ?? null),
    );
  let last = await versions();
  let since = performance.now();
  await until(`${old.name} to be idle`, async () => {
    const now = await versions();
    if (now !== last) since = performance.now();
    last = now;
    return performance.now() - since >= idleAfterMs;
  });
}

/** What the operator itself does to end something, while it still runs. */
async function endSome(api: Api, old: Old): Promise<void> {
  const [gone = ''] = objectsOf(old, 'orphaned');
  await api.delete(pathOfOld(old, gone));
  await untilGone(api, pathOfOld(old, gone));
  const lingering = pathOfOld(old, nodeOf(old, 'lingering'));
  await api.delete(lingering);
  await until('the foreign finalizer to be the last', async () => {
    const { metadata } = await api.get<Left>(lingering);
    return JSON.stringify(metadata.finalizers) === JSON.stringify([foreignFinalizer]);
  });
}

/** A blocked drain comes last: the real operators work on one node at a time. */
async function runInto(api: Api, old: Old, operator: OldOperator): Promise<void> {
  await Promise.all(
    situations.filter(one => one !== 'running').map(situation => runThrough(api, old, situation)),
  );
  await untilIdle(api, old, operator);
  await endSome(api, old);
  await untilIdle(api, old, operator);
  await create(api, maintenanceOf(old, nodeOf(old, 'running')));
  await untilOld(
    api,
    old,
    nodeOf(old, 'running'),
    'Running',
    status => status?.['lastError'] !== undefined,
  );
}

/** Plays all situations and says what is left of each when the operator has been stopped. */
export async function play(
  api: Api,
  old: Old,
  operator: OldOperator,
): Promise<readonly Recording[]> {
  await Promise.all(situations.map(situation => arrangeNode(api, old, situation)));
  await operator.start();
  try {
    await runInto(api, old, operator);
  } finally {
    await operator.stop();
  }
  // Nobody is there any more who would do something about it.
  await api.delete(pathOfOld(old, nodeOf(old, 'deleted')));
  const recordedAt = new Date().toISOString();
  return Promise.all(
    situations.map(async situation => ({
      operator: old.name,
      situation,
      recordedAt,
      before: own,
      ...(await leftOn(api, old, nodeOf(old, situation))),
    })),
  );
}

/** Waits for all, also when one has failed: nothing is left running then. */
export async function allOf(work: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(work)).find(one => one.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Takes all objects of a kind away, whoever holds them. */
export async function clear(api: Api, old: Old): Promise<void> {
  for (const situation of situations) {
    for (const { metadata } of (await leftOn(api, old, nodeOf(old, situation))).maintenances) {
      await api.patch(pathOfOld(old, metadata.name), { metadata: { finalizers: null } });
      await api.delete(pathOfOld(old, metadata.name));
    }
  }
}
