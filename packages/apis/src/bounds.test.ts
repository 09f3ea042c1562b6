import assert from 'node:assert/strict';
import { test } from 'node:test';
import { multipleBudgetsBlockerInfo, outcomeBlockerInfo } from '@drydock/core/drain';
import type { Report } from '@drydock/core/request';
import { at, makeBudget, makePod, makeRequest } from '@drydock/core/testing';
import { served } from './served.ts';

const adapters = served({ leaseNamespace: 'leases', operatorNamespace: 'leases' });
function long(length: number): string {
  return 'ä'.repeat(length);
}

/** What somebody may write who wants a status that cannot be stored. */
function hostile(): Report {
  const budgets = Array.from({ length: 5000 }, (_, index) =>
    makeBudget(`${'b'.repeat(240)}-${index}`, {
      key: `${'n'.repeat(63)}/${'b'.repeat(240)}-${index}`,
    }),
  );
  const pods = Array.from({ length: 20 }, (_, index) =>
    makePod(`${'p'.repeat(240)}-${index}`, { namespace: 'n'.repeat(63) }),
  );
  const blockers = pods.map((pod, index) => ({
    ...(index % 2 === 0
      ? multipleBudgetsBlockerInfo(pod, budgets)
      : outcomeBlockerInfo(pod, 'denied', long(1_000_000))),
    since: at(-60),
  }));
  return {
    state: 'Draining',
    held: true,
    leaseErrors: 0,
    pods: { total: 20, toEvict: 20, gone: 0, waiting: 20 },
    waiting: pods.map(({ namespace, name }) => ({ namespace, name })),
    blockers,
  };
}

for (const adapter of adapters) {
  test(`five thousand budgets on each of twenty pods make a status that can be stored: ${adapter.name} ${adapter.apiVersion}`, () => {
    const status = JSON.stringify(
      adapter.status(hostile(), makeRequest('one', { adapter }), at(0)),
    );
    assert.ok(Buffer.byteLength(status) < 256 * 1024, `${Buffer.byteLength(status)} bytes`);
  });
}

test('a blocker of two budgets is told as ever, with both names', () => {
  const two = multipleBudgetsBlockerInfo(makePod('a'), [makeBudget('one'), makeBudget('two')]);
  assert.deepEqual(
    [two.budgets, two.message],
    [
      ['shop/one', 'shop/two'],
      '2 budgets select the pod, and the eviction API always refuses such pods',
    ],
  );
});
