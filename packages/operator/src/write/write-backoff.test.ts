import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@drydock/core';
import { at } from '@drydock/core/testing';
import { WriteBackoff } from './writer.ts';

function write(path: string): Write {
  return { description: 'write', method: 'PATCH', path, body: {}, cache: 'nodes', events: [] };
}

test('a refused write waits ever longer, up to a minute, and others do not', () => {
  const writeBackoff = new WriteBackoff();
  const waits = Array.from(
    { length: 9 },
    () => writeBackoff.add(write('/a'), at(0)).epochMilliseconds - at(0).epochMilliseconds,
  );
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  assert.deepEqual(
    writeBackoff.until(write('/a'), at(59))?.epochMilliseconds,
    at(60).epochMilliseconds,
  );
  assert.equal(writeBackoff.until(write('/a'), at(60)), undefined);
  assert.equal(writeBackoff.until(write('/b'), at(0)), undefined);
});

test('once it has been stored the next refusal is a first one', () => {
  const writeBackoff = new WriteBackoff();
  writeBackoff.add(write('/a'), at(0));
  writeBackoff.add(write('/a'), at(0));
  writeBackoff.clear(write('/a'));
  assert.equal(writeBackoff.until(write('/a'), at(0)), undefined);
  assert.equal(writeBackoff.add(write('/a'), at(0)).epochMilliseconds, at(0.5).epochMilliseconds);
});

test('where nothing tells that it would be taken now, a write waits ten seconds at most', () => {
  const writeBackoff = new WriteBackoff();
  const waits = Array.from(
    { length: 7 },
    () => writeBackoff.add(write('/a'), at(0), 'soon').epochMilliseconds - at(0).epochMilliseconds,
  );
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 10_000, 10_000]);
});
