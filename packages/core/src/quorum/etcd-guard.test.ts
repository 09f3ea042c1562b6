import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Budget } from '../drain/budgets/budget.ts';
import { type Pod, readPod } from '../pod/pod.ts';
import { makeBudget, makePod } from '../testing/make.ts';
import { etcdAllows, guardVerdict, namedGuardAllows } from './quorum.ts';

function budget(disruptionsAllowed: number, over: Partial<Budget> = {}): Budget {
  return makeBudget('etcd-guard-pdb', {
    namespace: 'openshift-etcd',
    disruptionsAllowed,
    selector: { matchLabels: { app: 'guard' } },
    ...over,
  });
}

function guard(nodeName: string, over: Partial<Pod> = {}): Pod {
  return makePod(`guard-${nodeName}`, {
    namespace: 'openshift-etcd',
    nodeName,
    labels: { app: 'guard' },
    ...over,
  });
}

function says(budgets: readonly Budget[], guardPods: readonly Pod[] = []): string {
  return etcdAllows({ budgets, guardPods, nodeName: 'n1' }).kind;
}

describe('the budget of etcd on OpenShift', () => {
  const rows: readonly (readonly [string, readonly Budget[], readonly Pod[], string])[] = [
    ['no budget', [], [guard('n1')], 'denied'],
    ['no budget, and no guard either', [], [], 'denied'],
    ['two budgets, both generous', [budget(1), budget(1)], [], 'denied'],
    ['a budget that allows one, whoever is guarded', [budget(1)], [guard('n1')], 'allowed'],
    ['a budget that allows none, guard Ready', [budget(0)], [guard('n1')], 'denied'],
    [
      'a budget that allows none, guard not Ready',
      [budget(0)],
      [guard('n1', { ready: false })],
      'allowed',
    ],
    [
      'a budget that allows none, guard Ready=Unknown',
      [budget(0)],
      [guard('n1', { ready: false, readyUnknown: true })],
      'denied',
    ],
    ['a budget that allows none, no guard', [budget(0)], [], 'allowed'],
    [
      'a budget that allows none, guards elsewhere',
      [budget(0)],
      [guard('n2'), guard('n3')],
      'allowed',
    ],
    [
      'a budget that allows none, another pod on the node',
      [budget(0)],
      [guard('n1', { labels: { app: 'etcd' } })],
      'allowed',
    ],
    [
      'a budget without a selector counts every pod',
      [budget(0, { selector: {} })],
      [guard('n1', { labels: {} })],
      'denied',
    ],
    [
      'the first guard decides',
      [budget(0)],
      [guard('n1', { ready: false }), guard('n1')],
      'allowed',
    ],
  ];
  for (const [what, budgets, pods, answer] of rows)
    test(`${what}: ${answer}`, () => assert.equal(says(budgets, pods), answer));

  test('a missing selector matches every pod, as the replaced operator had it', () => {
    const { selector: _, ...rest } = budget(0);
    assert.equal(says([rest], [guard('n1', { labels: {} })]), 'denied');
  });

  test('an expression with one value is an equality', () => {
    const one = budget(0, {
      selector: { matchExpressions: [{ key: 'app', operator: 'In', values: ['guard'] }] },
    });
    assert.deepEqual(guardVerdict([one]), { kind: 'checkPods', labels: { app: 'guard' } });
    assert.equal(says([one], [guard('n1')]), 'denied');
    assert.equal(says([one], [guard('n1', { labels: { app: 'other' } })]), 'allowed');
  });

  const unclear: readonly (readonly [
    NonNullable<NonNullable<Budget['selector']>['matchExpressions']>[number],
    string,
  ])[] = [
    [
      { key: 'app', operator: 'In', values: ['a', 'b'] },
      'operator "In" without a single value cannot be converted into the old label selector format',
    ],
    [
      { key: 'app', operator: 'NotIn', values: ['a'] },
      'operator "NotIn" cannot be converted into the old label selector format',
    ],
    [
      { key: 'app', operator: 'Exists' },
      'operator "Exists" cannot be converted into the old label selector format',
    ],
    [
      { key: 'app', operator: 'DoesNotExist' },
      'operator "DoesNotExist" cannot be converted into the old label selector format',
    ],
  ];
  for (const [requirement, why] of unclear) {
    test(`with ${requirement.operator} of ${requirement.values?.length ?? 0} values it cannot be read`, () => {
      const one = budget(0, { selector: { matchExpressions: [requirement] } });
      assert.deepEqual(etcdAllows({ budgets: [one], guardPods: [], nodeName: 'n1' }), {
        kind: 'unclear',
        why,
      });
    });
  }
});

test('the guard that KubeVirt knew by name: absent or with something to give it allows', () => {
  assert.equal(namedGuardAllows(undefined), true);
  assert.equal(namedGuardAllows(budget(1)), true);
  assert.equal(namedGuardAllows(budget(0)), false);
});

test('a pod says of its readiness True, Unknown, or neither', () => {
  const read = (status?: string): readonly unknown[] => {
    const conditions = status === undefined ? [] : [{ type: 'Ready', status }];
    const { ready, readyUnknown } = readPod({
      metadata: { name: 'p', uid: 'u', resourceVersion: '1' },
      status: { conditions },
    });
    return [ready, readyUnknown];
  };
  assert.deepEqual(
    [read('True'), read('Unknown'), read('False'), read()],
    [
      [true, undefined],
      [false, true],
      [false, undefined],
      [false, undefined],
    ],
  );
});
