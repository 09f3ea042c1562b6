import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@drydock/core';
import type { ApiResponse } from '@drydock/kube-client';
import { silentLog } from '@drydock/utils';
import { UnconfirmedWrites } from './cache-updater.ts';

const patch: Write = {
  description: 'release the node',
  method: 'PATCH',
  path: '/api/v1/nodes/n1',
  body: {},
  cache: 'nodes',
  events: [],
};
const lease: Write = {
  ...patch,
  method: 'POST',
  path: '/apis/x/leases',
  body: { metadata: { name: 'node-n1' } },
  cache: 'leases',
};

function bench(response: (path: string) => ApiResponse | Error) {
  const asked: string[] = [];
  const learned: (readonly [path: string, body: unknown])[] = [];
  const api = {
    call: async ({ path }: { readonly path: string }) => {
      asked.push(path);
      const said = response(path);
      if (said instanceof Error) throw said;
      return said;
    },
  };
  return {
    uncertainWrites: new UnconfirmedWrites({
      api,
      cacheUpdater: { observe: ({ path }, body) => void learned.push([path, body]) },
      log: silentLog,
      stores: ['nodes', 'leases'],
    }),
    asked,
    learned,
  };
}

test('what a lost answer was about is read again, once, and taken in', async () => {
  const { uncertainWrites, asked, learned } = bench(() => ({
    status: 200,
    headers: {},
    body: 'as it is',
  }));
  uncertainWrites.add('n1', patch);
  uncertainWrites.add('n1', lease);
  assert.equal(await uncertainWrites.settle('n1'), true);
  assert.deepEqual(asked, ['/api/v1/nodes/n1', '/apis/x/leases/node-n1']);
  assert.deepEqual(
    learned.map(([, body]) => body),
    ['as it is', 'as it is'],
  );
  assert.equal(await uncertainWrites.settle('n1'), true);
  assert.equal(asked.length, 2);
});

test('of a condition of the node the node itself is read: its status may be written, and not read', async () => {
  const { uncertainWrites, asked } = bench(() => ({ status: 200, headers: {}, body: {} }));
  uncertainWrites.add('n1', { ...patch, path: '/api/v1/nodes/n1/status' });
  assert.deepEqual([await uncertainWrites.settle('n1'), asked], [true, ['/api/v1/nodes/n1']]);
});

test('as long as it cannot be read nothing is settled, and another node is not concerned', async () => {
  let works = false;
  const { uncertainWrites, asked } = bench(() =>
    works ? { status: 200, headers: {}, body: {} } : new Error('no answer'),
  );
  uncertainWrites.add('n1', patch);
  assert.deepEqual(
    [await uncertainWrites.settle('n1'), await uncertainWrites.settle('n2')],
    [false, true],
  );
  works = true;
  assert.deepEqual([await uncertainWrites.settle('n1'), asked.length], [true, 2]);
});

test('a lease that is not there is forgotten, a node that is gone is told by the watch, and statuses are no doubt', async () => {
  const { uncertainWrites, learned, asked } = bench(() => ({ status: 404, headers: {}, body: {} }));
  uncertainWrites.add('n1', patch);
  uncertainWrites.add('n1', lease);
  uncertainWrites.add('n1', { ...patch, cache: 'requests' });
  assert.equal(await uncertainWrites.settle('n1'), true);
  assert.deepEqual(learned, [['/apis/x/leases/node-n1', undefined]]);
  assert.equal(asked.length, 2);
});
