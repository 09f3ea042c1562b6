import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CachedObject, Change, CompleteList } from '@drydock/kube-client';
import { VirtualClock } from '@drydock/utils';
import { createCluster, type EmbeddedCluster, inProcess } from './cluster.ts';
import type { Stored } from './object.ts';

/** Numbers that look random and are the same each time (mulberry32). */
function numbers(seed: number) {
  return (): number => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

function start(): { readonly cluster: EmbeddedCluster; readonly clock: VirtualClock } {
  const clock = new VirtualClock();
  return { clock, cluster: createCluster({ clock, random: numbers(1) }) };
}

type Seen = CachedObject & { readonly phase: string };
function project(raw: unknown): Seen {
  const { metadata, status } = raw as Stored & { readonly status?: { readonly phase?: string } };
  return {
    key: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    phase: status?.phase ?? '',
  };
}

function pod(name: string, nodeName = 'n1'): object {
  return {
    metadata: { name },
    spec: { nodeName, containers: [{ name: 'm', image: 'x' }] },
  };
}
const podsPath = '/api/v1/namespaces/default/pods';

test('the ports: calls, a first list, changes in order, and the end', async () => {
  const { cluster, clock } = start();
  const api = inProcess(cluster, { userAgent: 'test' });
  const post = (name: string, node?: string) =>
    api.call({ method: 'POST', path: podsPath, body: pod(name, node) });
  assert.equal((await post('a')).status, 201);
  assert.equal((await post('elsewhere', 'n2')).status, 201);
  assert.equal((await post('a')).status, 409);
  const told: string[] = [];
  const tell = (change: Change<Seen>): void =>
    void told.push(`${change.type} ${change.object.key} ${change.object.phase}`);
  const cut = new AbortController();
  const collection = { path: '/api/v1/pods', fieldSelector: 'spec.nodeName=n1' };
  const listed = ({ keys }: CompleteList): void => void told.push(`listed ${[...keys].join()}`);
  const over = api.watch(
    collection,
    project,
    { changed: tell, listed, synced: () => void told.push('synced') },
    cut.signal,
  );
  await clock.advance(0);
  await post('b');
  await api.call({
    method: 'PATCH',
    path: `${podsPath}/a/status`,
    body: { status: { phase: 'Running' } },
    contentType: 'application/merge-patch+json',
  });
  await api.call({ method: 'DELETE', path: `${podsPath}/b`, body: { gracePeriodSeconds: 0 } });
  await clock.advance(0);
  assert.deepEqual(told.splice(0, 3), ['added a Pending', 'listed a', 'synced']);
  assert.deepEqual(told, [
    'added b Pending',
    'changed a Running',
    'changed b Pending',
    'removed b Pending',
  ]);
  cut.abort();
  await over;
  await post('c');
  await clock.advance(0);
  assert.equal(told.length, 4);
});

test('a collection that is not there is looked for again', async () => {
  const { cluster, clock } = start();
  const problems: unknown[] = [];
  const cut = new AbortController();
  const sink = {
    changed: () => {},
    synced: () => {},
    failing: (problem: unknown) => void problems.push(problem),
  };
  const over = inProcess(cluster, { userAgent: 'test' }).watch(
    { path: '/apis/example.com/v1/things' },
    project,
    sink,
    cut.signal,
  );
  await clock.advance(2500);
  assert.equal(problems.length, 3);
  cut.abort();
  await over;
});

test('delays are of the clock, and changes never overtake each other', async () => {
  const { cluster, clock } = start();
  const waits = [50, 10];
  const api = inProcess(cluster, {
    userAgent: 'test',
    delays: { request: () => 5, response: () => 5, watch: () => waits.shift() ?? 0 },
  });
  const told: string[] = [];
  const cut = new AbortController();
  const over = api.watch(
    { path: '/api/v1/pods' },
    project,
    { changed: ({ object }) => void told.push(object.key), synced: () => void told.push('synced') },
    cut.signal,
  );
  const posted = Promise.all(
    ['a', 'b'].map(name => api.call({ method: 'POST', path: podsPath, body: pod(name) })),
  );
  await clock.advance(45);
  assert.deepEqual(told, []);
  await clock.advance(15);
  assert.deepEqual(told, ['synced', 'a', 'b']);
  await posted;
  cut.abort();
  await over;
});

test('the same numbers make the same cluster, bit for bit', () => {
  const run = (): string => {
    const { cluster } = start();
    for (let index = 0; index < 20; index += 1) {
      const body = {
        kind: 'json' as const,
        value: {
          metadata: { generateName: 'p-' },
          spec: { containers: [{ name: 'm', image: 'x' }] },
        },
      };
      cluster.answer({
        method: 'POST',
        path: podsPath,
        query: new Map(),
        accept: '',
        contentType: 'application/json',
        userAgent: 't',
        body,
      });
    }
    return JSON.stringify(cluster.registry.store.list('pods'));
  };
  assert.equal(run(), run());
});
