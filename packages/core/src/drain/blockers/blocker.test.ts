import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeBudget, makePod } from '../../testing/make.ts';
import { outcomeBlockerInfo, terminatingBlockerInfo } from './blocker.ts';
import { budgetBlockerInfo } from './budget-blocker.ts';

const pod = makePod('a');

describe('a budget that has nothing to give says why', () => {
  // Allowed, healthy now, needed: expected are five.
  const rows: readonly (readonly [
    counts: readonly [number, number, number],
    message: string,
    helps: boolean,
  ])[] = [
    [[2, 5, 3], 'budget b allows 2 at the moment, and as many are in flight', false],
    [[0, 3, 3], 'budget b needs 3 healthy pods and has 3', false],
    [[0, 4, 3], 'budget b needs 3 healthy pods and has 4', false],
    [[0, 1, 3], 'budget b needs 3 healthy pods and has 1; 2 too few are healthy', true],
  ];
  for (const [[disruptionsAllowed, currentHealthy, desiredHealthy], wanted, helps] of rows)
    test(wanted, () => {
      const budget = makeBudget('b', {
        disruptionsAllowed,
        currentHealthy,
        desiredHealthy,
        expectedPods: 5,
      });
      const { reason, message, ...rest } = budgetBlockerInfo(pod, budget);
      assert.deepEqual([reason, message], ['DisruptionBudget', wanted]);
      assert.equal('remedy' in rest, helps, 'only pods that are not Ready can be helped');
    });
});

test('what a server or a webhook says is cut after a thousand characters', () => {
  const told = (length: number): string =>
    outcomeBlockerInfo(pod, 'denied', 'x'.repeat(length)).message;
  assert.equal(told(1000), 'x'.repeat(1000));
  assert.equal(told(1001), `${'x'.repeat(999)}…`);
});

test('an answer has a remedy where somebody can do something, and none where waiting is all', () => {
  const about = { namespace: 'shop', name: 'a' };
  assert.deepEqual(outcomeBlockerInfo(pod, 'evacuating', 'm'), {
    reason: 'Evacuating',
    pod: about,
    message: 'm',
  });
  assert.match(outcomeBlockerInfo(pod, 'failed', 'm').remedy ?? '', /API server/);
});

test('a pod that does not end is held by its finalizers, or by the kubelet where it has none', () => {
  const stuck = (finalizers: readonly string[]) => {
    const { message, remedy } = terminatingBlockerInfo(makePod('a', { finalizers }), true);
    return [message, remedy?.split(' of ')[0]];
  };
  assert.deepEqual(stuck([]), ['is past its grace period and still there', 'check the kubelet']);
  assert.deepEqual(stuck(['x/y', 'x/z']), [
    'is past its grace period and still there; finalizers: x/y, x/z',
    'check the controller that owns the finalizer',
  ]);
});

test('a budget whose status cannot be used says why, and what computes it', () => {
  const told = (over: Parameters<typeof makeBudget>[1], of = pod): readonly unknown[] => {
    const { reason, message, remedy } = budgetBlockerInfo(of, makeBudget('web', over));
    return [reason, message, remedy];
  };
  assert.deepEqual(told({ fresh: false }), [
    'BudgetNotSynced',
    'the status of budget web is not computed for its latest change',
    'if this lasts for more than some seconds, check kube-controller-manager: its disruption controller computes it',
  ]);
  const syncFailure = 'found no controllers for pod "a"';
  assert.deepEqual(told({ syncFailure }), [
    'BudgetNotSynced',
    `budget web could not be computed: ${syncFailure}`,
    'ask its owner for minAvailable as a number, which needs no controller to be counted: kubectl -n shop describe pdb web',
  ]);
  const owner = { kind: 'Job', name: 'backup', uid: 'j', apiVersion: 'batch/v1' };
  assert.deepEqual(
    told(
      { syncFailure: 'jobs.batch does not implement the scale subresource' },
      makePod('a', { owner }),
    ),
    [
      'BudgetNotSynced',
      'budget web could not be computed: jobs.batch does not implement the scale subresource',
      'wait for Job backup to end: the budget guards its work',
    ],
  );
  const disruptedPods = Array.from({ length: 2001 }, (_, index) => `pod-${index}`);
  assert.deepEqual(told({ disruptedPods }).slice(0, 2), [
    'BudgetNotSynced',
    'budget web grants nothing until the disruption controller confirms its 2001 evictions under way',
  ]);
});
