import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeEvent, makeMachineRequest, makeMachineSnapshot } from '../../testing/make-machine.ts';
import type { MachineEvent } from '../event.ts';
import { strategyOf } from './strategy.ts';

test('the strategy is that of the pending events; when none is pending any more it stays what it was', () => {
  const strategy = (...events: readonly MachineEvent[]) =>
    strategyOf(makeMachineSnapshot({ request: makeMachineRequest({ events }) })).strategy;
  const [reboot, retirement] = [makeEvent({ kind: 'reboot' }), makeEvent({ id: 'e2' })];
  assert.equal(strategy(reboot), 'Drain');
  assert.equal(strategy(reboot, retirement), 'Replace');
  assert.equal(strategy(reboot, { ...retirement, state: 'Cancelled' }), 'Drain');
  assert.equal(strategy({ ...reboot, state: 'Completed' }), 'Drain');
  assert.equal(strategy(), 'Replace');
});
