import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { freeze, part } from '../object.ts';
import { type Decoded, decode } from './decode.ts';

function read(draft: JsonObject): Extract<Decoded, { kind: 'decoded' }> {
  const decoded = decode(draft, 'core.Pod');
  assert.equal(decoded.kind, 'decoded');
  return decoded;
}

function pod(name: string, containers: readonly JsonObject[]): JsonObject {
  return { metadata: { name }, spec: { containers } };
}

test('a frozen part that several objects share is decoded once', () => {
  const containers = freeze([{ name: 'main', image: 'x', tty: false }]);
  const [one, other] = [read(pod('a', containers)), read(pod('b', containers))];
  assert.deepEqual(part(one.object, 'spec')['containers'], [
    { name: 'main', image: 'x', resources: {} },
  ]);
  assert.equal(part(one.object, 'spec')['containers'], part(other.object, 'spec')['containers']);
});

test('of a part that may still change nothing is remembered', () => {
  const containers = [{ name: 'main', image: 'x' }];
  read(pod('a', containers));
  containers[0]!.image = 'y';
  assert.deepEqual(part(read(pod('a', containers)).object, 'spec')['containers'], [
    { name: 'main', image: 'y', resources: {} },
  ]);
});

test('unknown fields of a shared part are told of every object', () => {
  const containers = freeze([{ name: 'main', image: 'x', color: 'red' }]);
  for (const name of ['a', 'b'])
    assert.deepEqual(read(pod(name, containers)).unknown, ['spec.containers[0].color']);
});
