import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secondsBetween } from '@drydock/apimachinery';
import type { BlockerInfo } from '../../../drain/blockers/blocker.ts';
import { at } from '../../../testing/make.ts';
import { makeContext } from '../../../testing/make-context.ts';
import { emptyMemo } from '../../snapshot.ts';
import { strayLookups } from './drain.ts';

function spent(namespace: string, reason: BlockerInfo['reason'] = 'DisruptionBudget'): BlockerInfo {
  return {
    reason,
    pod: { namespace, name: 'a' },
    message: '',
  };
}

function seen(
  now: number,
  infos: readonly BlockerInfo[],
  { since = 0, readAt }: { readonly since?: number; readonly readAt?: number } = {},
) {
  const unscheduled = new Map(
    readAt === undefined ? [] : [['shop', { readAt: at(readAt), pods: [] }]],
  );
  const blockedSince = new Map(
    infos.map(({ reason, pod }) => [`${reason} ${pod?.namespace ?? ''}/a `, at(since)]),
  );
  const context = makeContext([], { unscheduled, memo: { ...emptyMemo, blockedSince } });
  const { lookups, moments } = strayLookups({ ...context, now: at(now) }, infos);
  return [lookups.map(({ key }) => key), moments.map(moment => secondsBetween(at(0), moment))];
}

test('what a budget misses is looked for when it has kept a pod for ten seconds, and every thirty from then on', () => {
  assert.deepEqual(seen(9, [spent('shop')]), [[], [10]]);
  assert.deepEqual(seen(10, [spent('shop')]), [['shop'], []]);
  assert.deepEqual(seen(39, [spent('shop')], { readAt: 10 }), [[], [40]]);
  assert.deepEqual(seen(40, [spent('shop')], { readAt: 10 }), [['shop'], []]);
  assert.deepEqual(
    seen(40, [spent('shop', 'ReplacementUnschedulable')], { readAt: 10 }),
    [['shop'], []],
    'it may have found one',
  );
});

test('nothing else that keeps pods is a reason, and few namespaces are looked at in one pass', () => {
  for (const reason of [
    'AdmissionDenied',
    'BudgetNeverAllows',
    'Terminating',
    'BudgetNotSynced',
  ] as const)
    assert.deepEqual(seen(100, [spent('shop', reason)]), [[], []], reason);
  assert.deepEqual(
    seen(
      100,
      ['a', 'b', 'c', 'd'].map(name => spent(name)),
    ),
    [['a', 'b', 'c'], []],
  );
});

test('where nobody looks, as in a judgement from outside, nothing is asked', () => {
  const { lookups, moments } = strayLookups(makeContext([]), [spent('shop')]);
  assert.deepEqual([lookups, moments], [[], []]);
});
