import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VirtualClock } from '@drydock/utils';
import { createCluster } from './cluster.ts';
import { load } from './load.ts';
import { many } from './testing/many.ts';

const nodes = 500;
const podsEach = 20;

test(`${nodes} nodes and ${nodes * podsEach} pods are loaded, and nothing of them is scanned for one node`, () => {
  const cluster = createCluster({ clock: new VirtualClock(), random: () => 0.5 });
  const { store } = cluster.registry;
  load(cluster.registry, many(nodes, podsEach));
  assert.equal(store.count('pods'), nodes * podsEach);
  assert.equal(store.indexed('pods', 'spec.nodeName', 'node-7').length, podsEach);
  const listed = cluster.answer({
    method: 'GET',
    path: '/api/v1/pods',
    query: new Map([['fieldSelector', 'spec.nodeName=node-7']]),
    accept: 'application/json',
    contentType: '',
    userAgent: 'test',
    body: { kind: 'none' },
  });
  assert.equal(
    listed.kind === 'object' &&
      (listed.body as { readonly items: readonly unknown[] }).items.length,
    podsEach,
  );
});
