import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '../../core/maintenance/decision.ts';
import { at } from '../../core/testing/make.ts';
import { Refusals } from './write-backoff.ts';

const write = (path: string): Write => ({ what: 'write', method: 'PATCH', path, body: {}, store: 'nodes', announce: [] });

test('a refused write waits ever longer, up to a minute, and others do not', () => {
  const refusals = new Refusals();
  const waits = Array.from({ length: 9 }, () => refusals.add(write('/a'), at(0)).epochMilliseconds - at(0).epochMilliseconds);
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.deepEqual(refusals.until(write('/a'), at(59))?.epochMilliseconds, at(60).epochMilliseconds);
  assert.equal(refusals.until(write('/a'), at(60)), undefined);
  assert.equal(refusals.until(write('/b'), at(0)), undefined);
});

test('once it has been stored the next refusal is a first one', () => {
  const refusals = new Refusals();
  refusals.add(write('/a'), at(0));
  refusals.add(write('/a'), at(0));
  refusals.clear(write('/a'));
  assert.equal(refusals.until(write('/a'), at(0)), undefined);
  assert.equal(refusals.add(write('/a'), at(0)).epochMilliseconds, at(0.5).epochMilliseconds);
});
