import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Stored } from '../../object.ts';
import { budgetStatus, type ScaleOf } from './disruption.ts';

const now = '2026-11-21T08:00:00Z';

function object(name: string, more: JsonObject = {}, metadata: JsonObject = {}): Stored {
  return {
    ...more,
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      resourceVersion: '1',
      generation: 3,
      creationTimestamp: now,
      ...metadata,
    },
  };
}

function pod(
  name: string,
  over: {
    readonly ready?: boolean;
    readonly deleting?: boolean;
    readonly owner?: string | null;
  } = {},
): Stored {
  const { ready = true, deleting = false, owner = 'web' } = over;
  const ownerReferences =
    owner === null
      ? []
      : [
          {
            apiVersion: 'apps/v1',
            kind: 'ReplicaSet',
            name: owner,
            uid: `uid-${owner}`,
            controller: true,
          },
        ];
  return object(
    name,
    { status: { conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] } },
    { ownerReferences, ...(deleting && { deletionTimestamp: now }) },
  );
}

function pods(count: number): readonly Stored[] {
  return Array.from({ length: count }, (_, n) => pod(`p${n}`));
}
const four: ScaleOf = () => ({ uid: 'uid-web', replicas: 4 });
const nobody: ScaleOf = () => undefined;
function budget(spec: JsonObject, status: JsonObject = {}): Stored {
  return object('web', { spec, status });
}

function numbers(
  spec: JsonObject,
  these: readonly Stored[],
  scaleOf: ScaleOf = four,
): readonly unknown[] {
  const { status } = budgetStatus(budget(spec), these, scaleOf, now);
  return [
    status['expectedPods'],
    status['desiredHealthy'],
    status['currentHealthy'],
    status['disruptionsAllowed'],
  ];
}

test('expected, desired, healthy, allowed: as the disruption controller counts them', () => {
  const table: readonly (readonly [string, JsonObject, readonly Stored[], readonly number[]])[] = [
    ['maxUnavailable as a number', { maxUnavailable: 1 }, pods(4), [4, 3, 4, 1]],
    ['maxUnavailable of all', { maxUnavailable: '100%' }, pods(4), [4, 0, 4, 4]],
    ['maxUnavailable in percent is rounded up', { maxUnavailable: '30%' }, pods(4), [4, 2, 4, 2]],
    [
      'minAvailable as a number counts the pods there are',
      { minAvailable: 2 },
      pods(3),
      [3, 2, 3, 1],
    ],
    [
      'minAvailable in percent counts the scale, rounded up',
      { minAvailable: '30%' },
      pods(4),
      [4, 2, 4, 2],
    ],
    ['more than there are', { minAvailable: 9 }, pods(3), [3, 9, 3, 0]],
    [
      'one that is not ready',
      { maxUnavailable: 1 },
      [...pods(3), pod('sick', { ready: false })],
      [4, 3, 3, 0],
    ],
    [
      'one that is going',
      { maxUnavailable: 2 },
      [...pods(3), pod('going', { deleting: true })],
      [4, 2, 3, 1],
    ],
    ['no pods: nothing is allowed', { maxUnavailable: 1 }, [], [0, 0, 0, 0]],
    [
      'pods that nobody controls do not count towards a scale',
      { maxUnavailable: 1 },
      [pod('bare', { owner: null })],
      [0, 0, 1, 0],
    ],
    ['neither is said', {}, pods(2), [0, 0, 2, 0]],
  ];
  for (const [what, spec, these, expected] of table)
    assert.deepEqual(numbers(spec, these), expected, what);
});

test('pods of one controller count its scale once, those of two both', () => {
  const scaleOf: ScaleOf = one => ({
    uid: one.metadata.ownerReferences?.[0]?.uid ?? '',
    replicas: 5,
  });
  const both = [pod('a'), pod('b'), pod('c', { owner: 'api' })];
  assert.deepEqual(numbers({ maxUnavailable: 0 }, both, scaleOf), [10, 10, 3, 0]);
});

test('what cannot be told allows nothing, and says why', () => {
  const { status } = budgetStatus(
    budget({ maxUnavailable: 1 }, { currentHealthy: 7, disruptionsAllowed: 3 }),
    pods(1),
    nobody,
    now,
  );
  assert.deepEqual([status['currentHealthy'], status['disruptionsAllowed']], [7, 0]);
  const [condition] = status['conditions'] as readonly JsonObject[];
  assert.deepEqual(
    [condition?.['status'], condition?.['reason'], condition?.['message']],
    ['False', 'SyncFailed', 'found no controllers for pod "p0"'],
  );
});

test('a pod whose eviction was granted does not count for two minutes, unless it is on its way', () => {
  const disruptedPods = {
    p0: '2026-11-21T07:59:00Z',
    p1: '2026-11-21T07:57:00Z',
    going: '2026-11-21T07:59:59Z',
    gone: '2026-11-21T07:59:59Z',
  };
  const these = [...pods(3), pod('going', { deleting: true })];
  const { status, againMs } = budgetStatus(
    budget({ maxUnavailable: 2 }, { disruptedPods }),
    these,
    four,
    now,
  );
  assert.deepEqual(status['disruptedPods'], { p0: '2026-11-21T07:59:00Z' });
  assert.equal(status['currentHealthy'], 2);
  assert.equal(againMs, Date.parse('2026-11-21T08:01:00Z') + 1);
});

test('the condition says which generation it speaks of, and its time moves when its status does', () => {
  const [first] = budgetStatus(budget({ maxUnavailable: 1 }), pods(4), four, now).status[
    'conditions'
  ] as readonly JsonObject[];
  assert.deepEqual(first, {
    type: 'DisruptionAllowed',
    status: 'True',
    observedGeneration: 3,
    lastTransitionTime: now,
    reason: 'SufficientPods',
    message: '',
  });
  const stored = budget({ maxUnavailable: 1 }, { conditions: [first ?? {}] });
  const later = budgetStatus(stored, pods(4), four, '2026-11-21T09:00:00Z').status[
    'conditions'
  ] as readonly JsonObject[];
  assert.equal(later[0]?.['lastTransitionTime'], now);
});
