import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, makeBudget } from '../../testing/make.ts';
import { type InFlightEviction, reservedDisruptions } from './budget.ts';

test('a deletion takes from every budget that it overrules', () => {
  const overrules = ['b', 'c'].map(name => ({ budget: `shop/${name}`, healthy: 4 }));
  const deletion: InFlightEviction = {
    uid: 'u',
    podKey: 'shop/a',
    podName: 'a',
    nodeName: 'n1',
    overrules,
    state: 'sent',
    at: at(0),
  };
  const reserved = (name: string): number =>
    reservedDisruptions(makeBudget(name), [deletion], at(1));
  assert.deepEqual(['b', 'c', 'd'].map(reserved), [1, 1, 0]);
});
