import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { part } from '@drydock/kube-sim';
import { Shared } from './files.ts';

function pod(name: string, image: string): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'web' }, annotations: null },
    spec: { nodeName: name, containers: [{ name: 'main', image }] },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

test('parts that are alike become one and the same, and nothing else changes', () => {
  const shared = new Shared();
  const given = [pod('a', 'one'), pod('b', 'one'), pod('c', 'two')];
  const [a = {}, b = {}, c = {}] = given.map(one => shared.of(one));
  assert.deepEqual([a, b, c], given);
  assert.equal(part(a, 'metadata')['labels'], part(c, 'metadata')['labels']);
  assert.equal(part(a, 'spec')['containers'], part(b, 'spec')['containers']);
  assert.notEqual(part(a, 'spec')['containers'], part(c, 'spec')['containers']);
  assert.equal(part(a, 'status')['conditions'], part(b, 'status')['conditions']);
});

test('a part that others share cannot be changed for all of them', () => {
  const shared = new Shared();
  const labels = part(shared.of(pod('a', 'one')), 'metadata')['labels'] as Record<string, string>;
  assert.throws(() => {
    labels['app'] = 'other';
  }, TypeError);
});

test('what is no object of Kubernetes is left as it is', () => {
  assert.deepEqual(new Shared().of({ kind: 'Event', message: 'x', status: 'none' }), {
    kind: 'Event',
    message: 'x',
    status: 'none',
  });
});
