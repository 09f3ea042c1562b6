import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seedPolicy } from '../drain/policy.ts';
import { at, makeRequest } from '../testing/make.ts';
import { drainRequest, endsOf, isDraining, messageOf, phaseOf } from './maintenance-input.ts';
import { byAge, leaseNames, noHistory } from './request.ts';

test('the phase is as its kind spells it; new before the first status, and releasing once it is deleted', () => {
  const phase = (over: Parameters<typeof makeRequest>[1]) => phaseOf(makeRequest('one', over));
  assert.deepEqual(
    [phase({}), phase({ status: { phase: 'Running' } }), phase({ status: { phase: 5 } })],
    ['New', 'Running', 'New'],
  );
  assert.equal(phase({ status: { phase: 'Running' }, deleting: true }), 'Releasing');
});

test('the sentence is its message, else its last error', () => {
  const message = (status: Parameters<typeof makeRequest>[1]) =>
    messageOf(makeRequest('one', status));
  assert.equal(message({ status: { message: 'm', lastError: 'e' } }), 'm');
  assert.equal(message({ status: { lastError: 'e' } }), 'e');
  assert.equal(message({}), '');
  assert.equal(endsOf(makeRequest('one', { status: { estimatedCompletionTime: 'then' } })), 'then');
});

test('something can be in the way of a drain that goes on', () => {
  const draining = (over: Parameters<typeof makeRequest>[1]) =>
    isDraining(makeRequest('one', over));
  assert.equal(draining({}), true);
  assert.equal(draining({ deleting: true }), false);
  assert.equal(draining({ level: 'Cordon' }), false);
  assert.equal(draining({ history: { ...noHistory, state: 'Drained' } }), false);
  assert.equal(draining({ history: { ...noHistory, state: 'Draining' } }), true);
});

test('requests are in the order of their age; the name decides between those of one second', () => {
  const [old, a, b] = [makeRequest('z', { createdAt: at(-1) }), makeRequest('a'), makeRequest('b')];
  for (const told of [
    [b, a, old],
    [a, b, old],
    [old, b, a],
  ])
    assert.deepEqual(
      told.toSorted(byAge).map(({ name }) => name),
      ['z', 'a', 'b'],
    );
});

test('each lease of a node is named once, however many kinds ask for it', () => {
  const { adapter } = makeRequest('one');
  const asks = (namespace: string, name: string) => ({
    ...adapter,
    lease: () => ({ namespace, name, holder: 'us', released: 'deleted' as const }),
  });
  const names = leaseNames(
    [
      adapter,
      { ...adapter, lease: () => undefined },
      adapter,
      asks('leases', 'other'),
      asks('others', 'node-n1'),
    ],
    'n1',
  );
  assert.deepEqual(
    names.map(({ namespace, name }) => `${namespace}/${name}`),
    ['leases/node-n1', 'leases/other', 'others/node-n1'],
  );
});

test('a drain at a keyboard is ours, asks for no lease, and may cost the quorum: whoever types it is asked there', () => {
  const request = drainRequest('n1', seedPolicy, at(0));
  assert.partialDeepStrictEqual(request, {
    nodeName: 'n1',
    deleting: false,
    claim: 'ours',
    level: 'Drain',
    mayLoseQuorum: true,
    finalizers: [],
  });
  assert.equal(request.adapter.lease('n1'), undefined);
  assert.equal(request.adapter.statusSubresource, false);
});
