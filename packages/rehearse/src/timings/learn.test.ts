import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Stored } from '@drydock/kube-sim';
import { Workloads } from '../snapshot/workloads.ts';
import { PodTimings } from './learn.ts';

function second(value: number): string {
  return `2026-11-21T08:00:${String(value).padStart(2, '0')}Z`;
}

function pod(name: string, bound: number, ready: number, more: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      creationTimestamp: second(bound),
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'StatefulSet',
          name: name.split('-')[0] ?? '',
          uid: 'set',
          controller: true,
        },
      ],
    },
    spec: { terminationGracePeriodSeconds: 30, containers: [{ name: 'main' }], ...more },
    status: {
      conditions: [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: second(bound) },
        { type: 'Ready', status: 'True', lastTransitionTime: second(ready) },
      ],
    },
  };
}

function event(name: string, reason: string, time: JsonObject): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name}.1`, namespace: 'shop' },
    reason,
    involvedObject: {
      kind: 'Pod',
      namespace: 'shop',
      name,
      uid: reason === 'Killing' ? 'earlier' : `uid-${name}`,
    },
    ...time,
  };
}

function learned(all: readonly JsonObject[]): PodTimings {
  return new PodTimings(all, new Workloads(all));
}

test('starts are as long as all of a workload can have been', () => {
  const pods = [pod('web-0', 0, 4), pod('web-1', 10, 14), pod('web-2', 20, 24)];
  const told = learned([
    ...pods,
    event('web-0', 'Scheduled', { eventTime: '2026-11-21T08:00:00.100000Z' }),
    event('web-1', 'Scheduled', { eventTime: '2026-11-21T08:00:10.900000Z' }),
    event('web-2', 'Scheduled', { eventTime: '2026-11-21T08:00:20.500000Z' }),
  ]);
  // Between 3.9 and 4.1 s: ready in the second 4 after 0.1, and in the second 14 after 10.9.
  const times = [1, 2, 3, 4, 5].map(seed => told.startMs(pods[0] as Stored, seed));
  assert.ok(Math.abs((times[0] ?? 0) - 4000) < 50, `${times[0]} ms`);
  assert.ok(times.every(ms => ms >= 3900 && ms <= 4100));
  assert.deepEqual(told.from(['StatefulSet shop/db', 'StatefulSet shop/web']), {
    starts: 3,
    stops: 0,
    unseenStarts: ['StatefulSet shop/db'],
    unseenStops: ['StatefulSet shop/db', 'StatefulSet shop/web'],
  });
});

test('starts that differ are drawn from what was seen, and are the same when asked again', () => {
  const pods = [0, 1, 2, 3].map(at => pod(`web-${at}`, 0, 5 + 10 * at));
  const told = learned(pods);
  const times = Array.from({ length: 40 }, (_, seed) => told.startMs(pods[0] as Stored, seed));
  assert.ok(Math.min(...times) < 7000 && Math.max(...times) > 33_000);
  assert.equal(told.startMs(pods[1] as Stored, 7), told.startMs(pods[1] as Stored, 7));
});

test('ends are told by events of kubelets, and never longer than the grace period', () => {
  const pods = [0, 1, 2].map(at => pod(`db-${at}`, 10 + at, 15 + at));
  const told = learned([
    ...pods,
    ...[0, 1, 2].map(at => event(`db-${at}`, 'Killing', { firstTimestamp: second(2 + at) })),
  ]);
  const ms = told.stopMs(pods[0] as Stored, 1);
  assert.ok(ms >= 7000 && ms <= 9000, `${ms} ms`);
  const hasty = pod('db-3', 0, 1, { terminationGracePeriodSeconds: 3 });
  assert.equal(told.stopMs(hasty as Stored, 1), 3000);
});

test('ends of a second, of which one in eight is told as two, are not taken for one and a half', () => {
  const names = Array.from({ length: 8 }, (_, index) => `db-${index}`);
  const pods = names.map((name, index) => pod(name, 11 + index + Number(index === 3), 20 + index));
  const told = learned([
    ...pods,
    ...names.map((name, index) => event(name, 'Killing', { firstTimestamp: second(10 + index) })),
  ]);
  // Of pods of another workload it is not known otherwise.
  const ms = told.stopMs(pod('web-0', 0, 1) as Stored, 1);
  assert.ok(ms >= 1000 && ms <= 1250, `${ms} ms`);
});

test('where nothing is known the defaults count, with what the pod itself says of its end', () => {
  const told = learned([]);
  const quick = told.stopMs(pod('a-0', 0, 1) as Stored, 1);
  assert.ok(quick >= 1400 && quick <= 2600, `${quick} ms`);
  const sleeper = {
    containers: [
      { name: 'main', lifecycle: { preStop: { exec: { command: ['sh', '-c', 'sleep 10'] } } } },
    ],
  };
  assert.ok(told.stopMs(pod('b-0', 0, 1, sleeper) as Stored, 1) >= 8400);
  const start = told.startMs(pod('a-0', 0, 1) as Stored, 1);
  assert.ok(start >= 3500 && start <= 6500, `${start} ms`);
});
