import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeBudget, makePod } from '../../testing/make.ts';
import {
  budgetsOf,
  grantedBy,
  isFreeEviction,
  isUncounted,
  neverAllows,
  readBudget,
} from './budget.ts';

const metadata = { name: 'web', namespace: 'shop', uid: 'u', resourceVersion: '7', generation: 2 };

test('a budget whose status is not written yet allows nothing, and is not to be believed', () => {
  assert.deepEqual(readBudget({ metadata: { name: 'web', uid: 'u', resourceVersion: '7' } }), {
    key: 'default/web',
    namespace: 'default',
    name: 'web',
    uid: 'u',
    resourceVersion: '7',
    fresh: false,
    disruptionsAllowed: 0,
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    disruptedPods: [],
    unhealthyPodEvictionPolicy: 'IfHealthyBudget',
  });
});

test('its numbers are kept, and are fresh when they are about the spec of today', () => {
  const status = {
    disruptionsAllowed: 1,
    currentHealthy: 4,
    desiredHealthy: 3,
    expectedPods: 5,
    disruptedPods: { a: '2026-01-01T00:00:00Z' },
  };
  const read = (observedGeneration?: number) =>
    readBudget({
      metadata,
      spec: {
        selector: { matchLabels: { app: 'web' } },
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      },
      status: { ...status, observedGeneration },
    });
  assert.deepEqual(
    [undefined, 1, 2, 3].map(one => read(one).fresh),
    [false, false, true, true],
  );
  assert.partialDeepStrictEqual(read(2), {
    ...status,
    key: 'shop/web',
    disruptedPods: ['a'],
    unhealthyPodEvictionPolicy: 'AlwaysAllow',
    selector: { matchLabels: { app: 'web' } },
  });
  const { generation: _, ...ageless } = metadata;
  assert.equal(readBudget({ metadata: ageless, status: { observedGeneration: 0 } }).fresh, true);
});

test('only the controller saying that it could not count makes the counts void', () => {
  const failure = (...conditions: readonly object[]) =>
    readBudget({ metadata, status: { conditions } }).syncFailure;
  const failed = {
    type: 'DisruptionAllowed',
    status: 'False',
    reason: 'SyncFailed',
    message: 'found no controllers',
  };
  assert.equal(
    failure({ type: 'Other', status: 'True', reason: 'SyncFailed' }, failed),
    'found no controllers',
  );
  assert.equal(
    failure({ ...failed, message: undefined }),
    'the disruption controller could not compute the budget',
  );
  assert.equal(
    failure({ ...failed, reason: 'InsufficientPods' }, { ...failed, type: 'Other' }),
    undefined,
  );
  assert.equal('syncFailure' in readBudget({ metadata, status: {} }), false);
});

test('a budget guards the pods of its namespace that it selects', () => {
  const names = (...budgets: readonly ReturnType<typeof makeBudget>[]) =>
    budgetsOf(makePod('a'), budgets).map(({ name }) => name);
  const other = makeBudget('labels', { selector: { matchLabels: { app: 'db' } } });
  assert.deepEqual(
    names(makeBudget('fits'), makeBudget('elsewhere', { namespace: 'bank' }), other),
    ['fits'],
  );
});

test('a pod that is not ready costs nothing where the policy of its budget says so', () => {
  const sick = makePod('a', { ready: false });
  const rows = [
    [sick, { currentHealthy: 3, desiredHealthy: 3 }, true],
    [sick, { currentHealthy: 2, desiredHealthy: 3 }, false],
    [sick, { currentHealthy: 0, desiredHealthy: 0 }, false],
    [
      sick,
      { currentHealthy: 2, desiredHealthy: 3, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      true,
    ],
    [
      sick,
      { currentHealthy: 9, desiredHealthy: 3, unhealthyPodEvictionPolicy: 'SomethingNew' },
      false,
    ],
    [sick, { currentHealthy: 9, desiredHealthy: 3, fresh: false }, true],
    [sick, { currentHealthy: 2, desiredHealthy: 3, fresh: false }, false],
    [sick, { currentHealthy: 9, desiredHealthy: 3, syncFailure: 'found no controllers' }, true],
    [
      sick,
      {
        currentHealthy: 0,
        desiredHealthy: 0,
        fresh: false,
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      },
      true,
    ],
    [
      sick,
      {
        currentHealthy: 0,
        desiredHealthy: 0,
        syncFailure: 'no',
        unhealthyPodEvictionPolicy: 'AlwaysAllow',
      },
      true,
    ],
    [
      makePod('a'),
      { currentHealthy: 9, desiredHealthy: 3, unhealthyPodEvictionPolicy: 'AlwaysAllow' },
      false,
    ],
  ] as const;
  for (const [pod, over, wanted] of rows)
    assert.equal(isFreeEviction(pod, makeBudget('web', over)), wanted, JSON.stringify(over));
});

test('one that wants as many as there are never allows one to go; one that counts none allows none either', () => {
  const says = (over: Parameters<typeof makeBudget>[1]) => [
    neverAllows(makeBudget('web', over)),
    isUncounted(makeBudget('web', over)),
  ];
  assert.deepEqual(says({ expectedPods: 3, desiredHealthy: 3 }), [true, false]);
  assert.deepEqual(says({ expectedPods: 3, desiredHealthy: 2 }), [false, false]);
  assert.deepEqual(says({ expectedPods: 0, desiredHealthy: 0, disruptionsAllowed: 0 }), [
    false,
    true,
  ]);
  assert.deepEqual(says({ expectedPods: 0, desiredHealthy: 0, disruptionsAllowed: 1 }), [
    false,
    false,
  ]);
  assert.deepEqual(says({ expectedPods: 3, desiredHealthy: 3, fresh: false }), [false, false]);
  assert.deepEqual(
    says({ expectedPods: 0, desiredHealthy: 0, disruptionsAllowed: 0, fresh: false }),
    [false, false],
  );
});

test('it grants what its status allows, as long as that is about its latest spec and not too many evictions are unconfirmed', () => {
  const pods = (count: number): readonly string[] =>
    Array.from({ length: count }, (_, index) => `pod-${index}`);
  const rows = [
    [{ disruptionsAllowed: 2 }, 2],
    [{ disruptionsAllowed: 2, fresh: false }, 0],
    [{ disruptionsAllowed: 2, syncFailure: 'an old one' }, 2],
    [{ disruptionsAllowed: -1 }, 0],
    [{ disruptionsAllowed: 2, disruptedPods: pods(2000) }, 2],
    [{ disruptionsAllowed: 2, disruptedPods: pods(2001) }, 0],
  ] as const;
  for (const [over, wanted] of rows)
    assert.equal(grantedBy(makeBudget('web', over)), wanted, JSON.stringify(Object.keys(over)));
});
