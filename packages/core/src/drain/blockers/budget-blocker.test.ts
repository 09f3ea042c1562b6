import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { makeBudget, makePod } from '../../testing/make.ts';
import type { Budget } from '../budgets/budget.ts';
import { budgetBlockerInfo } from './budget-blocker.ts';

const [pod, job] = [
  makePod('a'),
  makePod('a', { owner: { kind: 'Job', name: 'backup', uid: 'j', apiVersion: 'batch/v1' } }),
];
const owner = { kind: 'CephCluster', name: 'rook' };

/** Every way in which a budget can refuse. */
const refusals: Readonly<Record<string, Partial<Budget>>> = {
  'not computed': { syncFailure: 'jobs.batch does not implement the scale subresource' },
  stale: { fresh: false },
  'too many unconfirmed': {
    disruptedPods: Array.from({ length: 2001 }, (_, index) => `p${index}`),
  },
  'counts nothing': { expectedPods: 0, disruptionsAllowed: 0 },
  'wants all': { desiredHealthy: 4, expectedPods: 4, disruptionsAllowed: 0 },
  spent: { disruptionsAllowed: 0, currentHealthy: 3, desiredHealthy: 3, expectedPods: 4 },
  'too few healthy': {
    disruptionsAllowed: 0,
    currentHealthy: 1,
    desiredHealthy: 3,
    expectedPods: 4,
  },
  'in flight': { disruptionsAllowed: 1 },
};

describe('what helps does no harm', () => {
  for (const [what, over] of Object.entries(refusals))
    for (const [whose, of, keeper] of [
      ['nobody’s', pod, undefined],
      ['an operator’s', pod, owner],
      ['nobody’s, over a Job', job, undefined],
      ['an operator’s, over a Job', job, owner],
    ] as const)
      test(`${what}, ${whose}`, () => {
        const { remedy = '', message } = budgetBlockerInfo(
          of,
          makeBudget('b', { ...over, ...(keeper && { owner: keeper }) }),
        );
        assert.doesNotMatch(
          remedy,
          /\b(edit|delete|patch|scale)\b pdb|loosen|delete the budget/,
          'the budget is its owner’s to change',
        );
        assert.doesNotMatch(message, /never/, 'it may yet');
        if (keeper !== undefined) assert.match(remedy, /^wait for CephCluster rook, /);
      });

  test('a Job is waited for where its budget cannot let it go', () => {
    for (const what of ['not computed', 'counts nothing', 'wants all'])
      assert.equal(
        budgetBlockerInfo(job, makeBudget('b', refusals[what])).remedy,
        'wait for Job backup to end: the budget guards its work',
        what,
      );
  });

  test('an operator’s budget is waited for, and after ten minutes somebody is called', () => {
    const { reason, lasting } = budgetBlockerInfo(
      pod,
      makeBudget('b', { ...refusals['wants all'], owner }),
    );
    assert.deepEqual(
      [reason, lasting],
      ['DisruptionBudget', { reason: 'BudgetNeverAllows', afterSeconds: 600 }],
    );
    assert.equal(
      budgetBlockerInfo(pod, makeBudget('b', refusals['wants all'])).reason,
      'BudgetNeverAllows',
    );
  });
});

describe('a budget that is short', () => {
  const short = makeBudget('b', refusals['too few healthy']);
  test('of healthy pods: they may be starting, and after two minutes somebody is called', () => {
    const { reason, lasting } = budgetBlockerInfo(pod, short);
    assert.deepEqual(
      [reason, lasting],
      ['DisruptionBudget', { reason: 'TooFewHealthy', afterSeconds: 120 }],
    );
    assert.equal(budgetBlockerInfo(pod, makeBudget('b', refusals['spent'])).lasting, undefined);
  });

  test('of this very pod: the policy that would let it go is named', () => {
    const sick = makePod('a', { ready: false });
    assert.match(
      budgetBlockerInfo(sick, short).remedy ?? '',
      /unhealthyPodEvictionPolicy: AlwaysAllow/,
    );
    assert.doesNotMatch(budgetBlockerInfo(pod, short).remedy ?? '', /unhealthyPodEvictionPolicy/);
  });

  const message =
    '0/8 nodes are available: 1 node(s) were unschedulable, 7 node(s) had volume node affinity conflict.';
  const stray = makePod('db-0', { nodeName: '', unschedulable: message });
  test('of a pod that finds no node: the scheduler is quoted, and a volume that binds it is named as such', () => {
    for (const what of ['too few healthy', 'spent']) {
      const {
        reason,
        message: told,
        remedy,
      } = budgetBlockerInfo(pod, makeBudget('b', refusals[what]), [stray]);
      assert.equal(reason, 'ReplacementUnschedulable');
      assert.ok(told.endsWith(`and pod shop/db-0 of it finds no node: ${message}`), told);
      assert.match(remedy ?? '', /^bring a node back that its volumes can be on/);
    }
    const other = {
      ...stray,
      unschedulable:
        "0/8 nodes are available: 7 node(s) didn't match PersistentVolume's node affinity.",
    };
    assert.match(
      budgetBlockerInfo(pod, short, [other]).remedy ?? '',
      /^bring a node back that its volumes can be on/,
    );
    const alone = {
      ...stray,
      claims: ['data'],
      unschedulable: '0/1 nodes are available: 1 node(s) were unschedulable.',
    };
    assert.match(
      budgetBlockerInfo(pod, short, [alone]).remedy ?? '',
      /^bring a node back that its volumes can be on/,
    );
    assert.match(
      budgetBlockerInfo(pod, short, [{ ...alone, claims: [] }]).remedy ?? '',
      /^make room, or bring back a node/,
    );
    const crowded = { ...stray, unschedulable: '0/8 nodes are available: 8 Insufficient cpu.' };
    assert.match(budgetBlockerInfo(pod, short, [crowded]).remedy ?? '', /^make room/);
  });

  test('pods of others, and those that the scheduler has not refused, have nothing to do with it', () => {
    const { unschedulable: _, ...fresh } = stray;
    for (const other of [
      { ...stray, namespace: 'other' },
      { ...stray, labels: { app: 'other' } },
      fresh,
    ])
      assert.equal(budgetBlockerInfo(pod, short, [other]).reason, 'DisruptionBudget');
    assert.equal(
      budgetBlockerInfo(pod, makeBudget('b', refusals['wants all']), [stray]).reason,
      'BudgetNeverAllows',
    );
  });
});
