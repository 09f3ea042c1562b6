import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectGate } from '@drydock/core/plan';
import { makePlan } from '@drydock/core/testing';
import type { Watcher } from '@drydock/kube-client';
import { GateObjects } from './gate-objects.ts';

type Handler = Parameters<Watcher['watch']>[2];
type Followed = {
  readonly path: string;
  readonly handler: Handler;
  readonly project: (raw: unknown) => unknown;
  readonly signal: AbortSignal;
};

const gate: ObjectGate = {
  name: 'g',
  kind: 'object',
  at: ['BeforeNode'],
  onFalse: 'Wait',
  forSeconds: 0,
  apiVersion: 'ceph.rook.io/v1',
  resource: 'cephclusters',
  namespace: 'rook',
  object: 'main',
  expression: 'true',
};

function bench() {
  const followed: Followed[] = [];
  const watcher: Watcher = {
    watch: (collection, project, handler, signal) => {
      followed.push({
        path: `${collection.path}?${collection.fieldSelector}`,
        project,
        signal,
        handler,
      });
      return new Promise(resolve =>
        signal.addEventListener('abort', () => resolve(), { once: true }),
      );
    },
  };
  const told = { count: 0 };
  const objects = new GateObjects(watcher, () => (told.count += 1));
  const stop = new AbortController();
  objects.begin(stop.signal);
  const last = (): Followed => followed.at(-1) as Followed;
  const see = (version: string): void => {
    const raw = {
      metadata: { name: 'main', uid: 'u', resourceVersion: version, managedFields: [] },
      status: { version },
    };
    last().handler.changed({ type: 'added', object: last().project(raw) } as never);
  };
  return { objects, followed, last, see, told, stop };
}

test('an object is followed as long as a gate asks for it', async () => {
  const { objects, followed, last, see, stop } = bench();
  objects.follow([gate]);
  objects.follow([gate]);
  assert.deepEqual(
    followed.map(({ path }) => path),
    ['/apis/ceph.rook.io/v1/namespaces/rook/cephclusters?metadata.name=main'],
  );
  assert.deepEqual(objects.sightOf(gate), {
    problem: 'cephclusters rook/main has not been read yet',
  });
  const pending = (): boolean => objects.isPending(makePlan({ gates: [gate] }));
  assert.deepEqual(
    [pending(), objects.isPending(makePlan({ gates: [{ ...gate, object: 'other' }] }))],
    [true, false],
  );
  last().handler.synced();
  assert.deepEqual(objects.sightOf(gate), { problem: 'cephclusters rook/main does not exist' });
  assert.equal(pending(), false);
  see('1');
  assert.deepEqual(objects.sightOf(gate), {
    object: {
      metadata: { name: 'main', uid: 'u', resourceVersion: '1' },
      status: { version: '1' },
    },
  });
  objects.follow([]);
  assert.equal(last().signal.aborted, true);
  assert.deepEqual(objects.sightOf(gate), {
    problem: 'cephclusters rook/main has not been read yet',
  });
  objects.follow([gate]);
  stop.abort();
  await objects.ended();
});

test('what cannot be read any more is not gone by, and read from the start when that is possible again', () => {
  const { objects, followed, last, see, told } = bench();
  objects.follow([gate]);
  const failing = (message: string, status?: number): void =>
    last().handler.failing?.({ message, retryInMs: 1000, ...(status !== undefined && { status }) });
  failing('no', 403);
  assert.equal(objects.isPending(makePlan({ gates: [gate] })), false);
  assert.match(
    JSON.stringify(objects.sightOf(gate)),
    /Drydock may not read cephclusters rook\/main: give its service account/,
  );
  assert.equal(followed.length, 1, 'the watch tries again by itself');
  see('1');
  last().handler.synced();
  const before = told.count;
  failing('connection refused');
  assert.match(JSON.stringify(objects.sightOf(gate)), /cannot be read: connection refused/);
  assert.ok(told.count > before);
  assert.deepEqual(
    [followed.length, followed[0]?.signal.aborted],
    [2, true],
    'another watch, which tells of an object that is as it was',
  );
  failing('connection refused');
  assert.equal(followed.length, 2);
  see('1');
  assert.equal('object' in objects.sightOf(gate), true);
});
