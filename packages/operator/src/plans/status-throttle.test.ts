import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '@drydock/core/testing';
import { StatusThrottle } from './status-throttle.ts';

test('what a plan goes by is written at once, what it only tells at most once a second', () => {
  const pace = new StatusThrottle();
  const told = { waiting: [], waitingFor: null, message: '' };
  assert.equal(pace.dueAt('a', told, at(0)), undefined, 'the first one');
  assert.equal(pace.dueAt('a', told, at(0.5))?.toString(), at(1).toString());
  assert.equal(pace.dueAt('b', told, at(0.5)), undefined, 'another plan');
  assert.equal(pace.dueAt('a', { ...told, inFlight: [] }, at(0.6)), undefined);
  assert.equal(
    pace.dueAt('a', told, at(1.5))?.toString(),
    at(1.6).toString(),
    'since it was written last',
  );
  assert.equal(pace.dueAt('a', told, at(1.6)), undefined);
  pace.forget('a');
  assert.equal(pace.dueAt('a', told, at(1.7)), undefined);
});
