import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { learnLimits } from './limits.ts';

const start = Date.parse('2026-11-23T08:00:00Z');
function timeText(second: number): string {
  return new Date(start + 1000 * Math.floor(second)).toISOString().replace('.000Z', 'Z');
}

/** One pod of a ReplicaSet: created, scheduled at once, ready some seconds later. */
function pod(name: string, created: number, ready: number): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      uid: name,
      creationTimestamp: timeText(created),
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'set', controller: true },
      ],
    },
    status: {
      conditions: [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: timeText(created) },
        { type: 'Ready', status: 'True', lastTransitionTime: timeText(ready) },
      ],
    },
  };
}

/** So many pods at so many a second. */
function burst(pods: number, rate: number, startSeconds = 0.5, from = 0): readonly JsonObject[] {
  return Array.from({ length: pods }, (_, index) =>
    pod(`p${from}-${index}`, from + 0.5 + index / rate, from + 0.5 + index / rate + startSeconds),
  );
}

test("a copy that shows nothing is played with Kubernetes' defaults", () => {
  for (const pods of [
    [],
    burst(40, 1000),
    burst(400, 18),
    [...burst(30, 1000), ...burst(200, 19, 0.5, 2)],
  ]) {
    const { limits, from } = learnLimits(pods);
    assert.deepEqual(
      limits,
      { controllers: { qps: 20, burst: 30 }, scheduler: { qps: 50, burst: 100 } },
      `${pods.length}`,
    );
    assert.deepEqual(from, { source: 'default', qps: 20 });
  }
});

test('pods that came faster than a limit allows show that it is another one, and how fast the API server is', () => {
  const { limits, from } = learnLimits(burst(400, 100));
  assert.equal(limits.controllers, undefined);
  assert.equal(limits.scheduler, undefined);
  assert.equal(from.source, 'learned');
  assert.ok(Math.abs((from.podsPerSecond ?? 0) - 100) <= 20, `${from.podsPerSecond}`);
  assert.ok(Math.abs((limits.writeMs ?? 0) - 1000 / 700) < 0.3, `${limits.writeMs}`);
});

test('the scheduler has a limit of its own', () => {
  const { limits } = learnLimits(burst(400, 45));
  assert.deepEqual([limits.controllers, limits.scheduler], [undefined, { qps: 50, burst: 100 }]);
});

test('pods that take long to start, and those that were restarted since, say nothing of the API server', () => {
  assert.equal(learnLimits(burst(400, 100, 30)).limits.writeMs, undefined);
  assert.equal(learnLimits(burst(400, 100, 4000)).limits.writeMs, undefined);
});

test('what somebody knows goes before what the copy shows', () => {
  const { limits, from } = learnLimits(burst(400, 100), { qps: 50, burst: 75 });
  assert.deepEqual(limits.controllers, { qps: 50, burst: 75 });
  assert.deepEqual([from.source, from.qps], ['given', 50]);
});

test('times that nobody can read are no times', () => {
  const odd = pod('odd', 0, 1);
  const { limits } = learnLimits([
    { ...odd, metadata: { ...(odd['metadata'] as JsonObject), creationTimestamp: 'soon' } },
    { kind: 'Pod' },
  ]);
  assert.deepEqual(limits.controllers, { qps: 20, burst: 30 });
});
