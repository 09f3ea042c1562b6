import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HandClock } from '../support/hand-clock.ts';
import { createCluster } from './cluster.ts';
import { load } from './load.ts';

const nodes = 500;
const podsEach = 20;

test(`${nodes} nodes and ${nodes * podsEach} pods are loaded, and nothing of them is scanned for one node`, () => {
  const cluster = createCluster({ clock: new HandClock(), random: () => 0.5 });
  const { store } = cluster.machine;
  load(cluster.machine, many(nodes, podsEach));
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
  assert.equal(listed.kind === 'object' && (listed.body as { readonly items: readonly unknown[] }).items.length, podsEach);
});

const meta = (name: string, namespace?: string): object => ({
  name,
  ...(namespace === undefined ? {} : { namespace }),
  uid: `uid-${namespace ?? ''}-${name}`,
  creationTimestamp: '2026-01-01T00:00:00Z',
  labels: { app: name.slice(0, 5) },
});

function* many(
  nodes: number,
  pods: number,
): Generator<{ readonly apiVersion: string; readonly kind: string; readonly [key: string]: unknown }> {
  for (let node = 0; node < nodes; node += 1) {
    yield { apiVersion: 'v1', kind: 'Node', metadata: meta(`node-${node}`), spec: {}, status: { capacity: { cpu: '4' } } };
    for (let pod = 0; pod < pods; pod += 1) {
      yield {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: meta(`pod-${node}-${pod}`, `space-${pod}`),
        spec: { nodeName: `node-${node}`, containers: [{ name: 'main', image: 'x:1' }] },
        status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
      };
    }
  }
}
