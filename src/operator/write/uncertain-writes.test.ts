import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '../../core/maintenance/decision.ts';
import { silentLog } from '../../support/log.ts';
import type { ApiAnswer } from '../ports.ts';
import { Doubts } from './uncertain-writes.ts';

const patch: Write = { what: 'give the node back', method: 'PATCH', path: '/api/v1/nodes/n1', body: {}, store: 'nodes', announce: [] };
const lease: Write = { ...patch, method: 'POST', path: '/apis/x/leases', body: { metadata: { name: 'node-n1' } }, store: 'leases' };

const bench = (answer: (path: string) => ApiAnswer | Error) => {
  const asked: string[] = [];
  const learned: (readonly [path: string, body: unknown])[] = [];
  const api = {
    call: async ({ path }: { readonly path: string }) => {
      asked.push(path);
      const said = answer(path);
      if (said instanceof Error) throw said;
      return said;
    },
  };
  return { doubts: new Doubts(api, { learn: ({ path }, body) => void learned.push([path, body]) }, silentLog), asked, learned };
};

test('what a lost answer was about is read again, once, and taken in', async () => {
  const { doubts, asked, learned } = bench(() => ({ status: 200, headers: {}, body: 'as it is' }));
  doubts.add('n1', patch);
  doubts.add('n1', lease);
  assert.equal(await doubts.settle('n1'), true);
  assert.deepEqual(asked, ['/api/v1/nodes/n1', '/apis/x/leases/node-n1']);
  assert.deepEqual(
    learned.map(([, body]) => body),
    ['as it is', 'as it is'],
  );
  assert.equal(await doubts.settle('n1'), true);
  assert.equal(asked.length, 2);
});

test('as long as it cannot be read nothing is settled, and another node is not concerned', async () => {
  let works = false;
  const { doubts, asked } = bench(() => (works ? { status: 200, headers: {}, body: {} } : new Error('no answer')));
  doubts.add('n1', patch);
  assert.deepEqual([await doubts.settle('n1'), await doubts.settle('n2')], [false, true]);
  works = true;
  assert.deepEqual([await doubts.settle('n1'), asked.length], [true, 2]);
});

test('a lease that is not there is forgotten, a node that is gone is told by the watch, and statuses are no doubt', async () => {
  const { doubts, learned, asked } = bench(() => ({ status: 404, headers: {}, body: {} }));
  doubts.add('n1', patch);
  doubts.add('n1', lease);
  doubts.add('n1', { ...patch, store: 'requests' });
  assert.equal(await doubts.settle('n1'), true);
  assert.deepEqual(learned, [['/apis/x/leases/node-n1', undefined]]);
  assert.equal(asked.length, 2);
});
