import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Write } from '@drydock/core';
import { at } from '@drydock/core/testing';
import { silentLog } from '@drydock/utils';
import { UnconfirmedWrites } from './cache-updater.ts';
import { DecisionWriter } from './decision-writer.ts';
import type { WriteOutcome } from './writer.ts';

const path = '/apis/drydock.dev/v1alpha1/maintenanceplans/p1';
const begin: Write = {
  description: 'begin',
  method: 'PATCH',
  path: `${path}/status`,
  body: {},
  cache: 'plans',
  events: [],
};
const next: Write = { ...begin, description: 'next' };

function bench(outcomes: readonly WriteOutcome[]) {
  const [left, written, asked, learned, turns] = [
    [...outcomes],
    [] as string[],
    [] as string[],
    [] as unknown[],
    [] as string[],
  ];
  const readable = { on: true };
  const call = async ({ path: of }: { readonly path: string }) => {
    asked.push(of);
    return readable.on
      ? { status: 200, headers: {}, body: 'as it is' }
      : { status: 503, headers: {}, body: {} };
  };
  const write = async ({ description: what }: Write): Promise<WriteOutcome> => {
    written.push(what);
    return left.shift() ?? { result: 'stored' };
  };
  const decisions = new DecisionWriter({
    writer: { write },
    clock: { now: () => at(0) },
    uncertainWrites: new UnconfirmedWrites({
      api: { call },
      cacheUpdater: { observe: (_write, body) => void learned.push(body) },
      log: silentLog,
      stores: ['plans'],
    }),
    stored: key => void turns.push(`${key} at once`),
    again: (key, until) =>
      void turns.push(`${key} ${until.epochMilliseconds - at(0).epochMilliseconds} ms`),
  });
  return { decisions, written, asked, learned, turns, readable };
}

test('one write after the other, and none after one that was not stored; pauses double', async () => {
  const { decisions, written, turns } = bench([
    { result: 'stored' },
    { result: 'stored' },
    { result: 'conflict' },
    { result: 'conflict' },
  ]);
  await decisions.write('p1', 'n1', [begin, next]);
  await decisions.write('p1', 'n1', [begin, next]);
  await decisions.write('p1', 'n1', [begin, next]);
  assert.deepEqual(written, ['begin', 'next', 'begin', 'begin']);
  assert.deepEqual(turns, ['p1 at once', 'p1 50 ms', 'p1 100 ms']);
});

test('when the answer to a write is lost, it is read back before anything more is decided, of any object', async () => {
  const { decisions, asked, learned, turns, readable } = bench([
    { result: 'refused', message: 'the connection broke', until: at(9), outcomeUnknown: true },
  ]);
  await decisions.write('p1', 'n1', [begin]);
  readable.on = false;
  assert.equal(await decisions.settled('p2'), false);
  readable.on = true;
  assert.equal(await decisions.settled('p2'), true);
  assert.deepEqual([asked, learned], [[path, path], ['as it is']]);
  assert.equal(await decisions.settled('p1'), true);
  assert.equal(asked.length, 2, 'it is known by then');
  assert.deepEqual(turns, ['p1 9000 ms', 'p2 50 ms']);
});

test('what somebody else has changed is read again before anything more is decided', async () => {
  const { decisions, asked, learned } = bench([{ result: 'conflict' }]);
  await decisions.write('p1', 'n1', [begin]);
  assert.equal(await decisions.settled('p2'), true);
  assert.deepEqual([asked, learned], [[path], ['as it is']]);
});

test('what the server has refused was not made: nothing is read', async () => {
  const { decisions, asked } = bench([
    { result: 'refused', message: 'it is forbidden', until: at(9) },
  ]);
  await decisions.write('p1', 'n1', [begin]);
  assert.equal(await decisions.settled('p2'), true);
  assert.deepEqual(asked, []);
  assert.equal(
    decisions.withTrouble('p1', { message: 'Waiting' }).message,
    'Waiting; refused so far: it is forbidden',
  );
});

function about(of: string, what: string, more: Partial<Write> = {}): Write {
  return { ...begin, description: what, of, ...more };
}

test('what is refused concerns what it is about alone: the rest is made, what takes away and what records first', async () => {
  const { decisions, written, turns } = bench([
    { result: 'stored' },
    { result: 'stored' },
    { result: 'stored' },
    { result: 'refused', message: 'the policy denies it', until: at(9) },
  ]);
  const writes = [
    begin,
    about('n1', 'make the pod', { method: 'POST', cache: 'planPods' }),
    about('n1', 'and go on'),
    about('n2', 'delete', { method: 'DELETE' }),
    about('n3', 'record', { method: 'POST', cache: 'planRecords' }),
  ];
  await decisions.write('p1', 'p1', writes);
  assert.deepEqual(written, ['begin', 'delete', 'record', 'make the pod']);
  assert.deepEqual(
    turns,
    ['p1 at once', 'p1 9000 ms', 'p1 at once'],
    'its other steps may be taken, and this one later',
  );
  assert.deepEqual([...decisions.refusals('p1')], [['n1', 'the policy denies it']]);
  assert.equal(
    decisions.withTrouble('p1', { message: 'Running' }).message,
    'Running; refused so far: the policy denies it',
  );
  await decisions.write('p1', 'p1', [about('n2', 'go on')]);
  assert.deepEqual([...decisions.refusals('p1')], [], 'nobody asks for it any more');
});

test('nothing is made for nodes whose slots are not stored', async () => {
  const { decisions, written } = bench([{ result: 'conflict' }]);
  await decisions.write('p1', 'p1', [begin, about('n1', 'make the pod')]);
  assert.deepEqual(written, ['begin']);
});

test('when the answer about one node is lost, its own object waits for what became of it, and no other', async () => {
  const { decisions, readable } = bench([
    { result: 'refused', message: 'timeout', until: at(9), outcomeUnknown: true },
  ]);
  await decisions.write('p1', 'p1', [about('n1', 'make the pod')]);
  readable.on = false;
  assert.deepEqual([await decisions.settled('p2'), await decisions.settled('p1')], [true, false]);
});

test('pauses of one do not grow with the failures of another', async () => {
  const { decisions, turns } = bench([
    { result: 'conflict' },
    { result: 'conflict' },
    { result: 'stored' },
    { result: 'conflict' },
  ]);
  await decisions.write('p1', 'p1', [about('n1', 'make the pod')]);
  await decisions.write('p1', 'p1', [about('n1', 'make the pod')]);
  await decisions.write('p1', 'p1', [about('n1', 'make the pod'), about('n2', 'record')]);
  assert.deepEqual(turns, ['p1 50 ms', 'p1 100 ms', 'p1 50 ms', 'p1 at once']);
});
