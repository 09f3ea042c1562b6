import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '@drydock/core/testing';
import { VirtualClock } from '@drydock/utils';
import { settle } from '../testing/fakes.ts';
import { BudgetTurns } from './evictor.ts';

function bench() {
  const clock = new VirtualClock(at(0));
  const turns = new BudgetTurns(clock);
  const answers = new Map<string, () => void>();
  const sent: string[] = [];
  const send = (name: string) => (): Promise<void> => {
    sent.push(name);
    return new Promise(resolve => answers.set(name, resolve));
  };
  const answer = async (...names: readonly string[]): Promise<void> => {
    for (const name of names) answers.get(name)?.();
    await settle();
  };
  const pass = async (milliseconds: number): Promise<void> => {
    await clock.advance(milliseconds);
    await settle();
  };
  return { turns, send, sent, answer, pass };
}

test('the next of a budget has its turn when the one before it has its answer, at once', async () => {
  const { turns, send, sent, answer } = bench();
  for (const name of ['a', 'b', 'c']) turns.takeTurn('web', send(name));
  turns.takeTurn('db', send('x'));
  await settle();
  assert.deepEqual(sent, ['a', 'x']);
  await answer('a');
  assert.deepEqual(sent, ['a', 'x', 'b']);
  await answer('b', 'x');
  assert.deepEqual(sent, ['a', 'x', 'b', 'c']);
});

test('an eviction that rests in the API server keeps the next waiting for 250 ms only, each in its turn', async () => {
  const { turns, send, sent, answer, pass } = bench();
  for (const name of ['a', 'b', 'c', 'd']) turns.takeTurn('web', send(name));
  await pass(249);
  assert.deepEqual(sent, ['a']);
  await pass(1);
  assert.deepEqual(sent, ['a', 'b'], 'not all that wait');
  await answer('a');
  assert.deepEqual(sent, ['a', 'b'], 'c comes after b');
  await answer('b');
  assert.deepEqual(sent, ['a', 'b', 'c']);
  await pass(250);
  assert.deepEqual(sent, ['a', 'b', 'c', 'd']);
});

test('who comes later than 250 ms after the last has its turn at once', async () => {
  const { turns, send, sent, pass } = bench();
  turns.takeTurn('web', send('a'));
  await pass(400);
  turns.takeTurn('web', send('b'));
  await settle();
  assert.deepEqual(sent, ['a', 'b']);
});

test('what overrules budgets waits for the answers of all that are under way for them, resting and queued ones too', async () => {
  const { turns, send, sent, answer, pass } = bench();
  for (const name of ['a', 'b', 'c']) turns.takeTurn('web', send(name));
  turns.takeTurn('db', send('x'));
  await pass(250);
  turns.waitForAll(['web'], send('deletion'));
  turns.waitForAll(['db', 'other'], send('another deletion'));
  turns.waitForAll([], send('free'));
  await answer('b', 'c');
  assert.deepEqual(sent, ['a', 'x', 'b', 'free', 'c']);
  await answer('c');
  assert.equal(sent.includes('deletion'), false, 'a rests still');
  await answer('a');
  assert.deepEqual(sent.slice(5), ['deletion']);
  await answer('x');
  assert.deepEqual(sent.slice(5), ['deletion', 'another deletion']);
});

test('evictions of many budgets are sent 32 at once, and rest from when they are sent', async () => {
  const { turns, send, sent, answer, pass } = bench();
  for (let index = 0; index < 40; index += 1)
    for (const each of ['first', 'second'])
      turns.takeTurn(`budget-${index}`, send(`${each} ${index}`));
  await settle();
  assert.deepEqual([sent.length, sent.every(name => name.startsWith('first'))], [32, true]);
  await pass(1000);
  assert.equal(sent.length, 32, 'what rests has its place still');
  await answer(...Array.from({ length: 8 }, (_, index) => `first ${index}`));
  assert.deepEqual(
    sent.slice(32),
    Array.from({ length: 8 }, (_, index) => `first ${index + 32}`),
    'first come, first served',
  );
  await answer(...sent);
  await answer(...sent);
  assert.deepEqual([sent.length, new Set(sent).size], [80, 80]);
});
