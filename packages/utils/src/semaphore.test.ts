import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Semaphore } from './heap.ts';

function bench(places: number) {
  const semaphore = new Semaphore(places);
  const [begun, done]: [string[], string[]] = [[], []];
  const ends = new Map<string, () => void>();
  const run = (name: string): void => {
    const work = (): Promise<void> => {
      begun.push(name);
      return new Promise(resolve => ends.set(name, resolve));
    };
    void semaphore.run(work).then(() => done.push(name));
  };
  const end = async (name: string): Promise<void> => {
    ends.get(name)?.();
    await new Promise(resolve => setImmediate(resolve));
  };
  return { run, end, begun, done };
}

test('so much is done at once, and what waits begins in the order in which it came', async () => {
  const { run, end, begun, done } = bench(2);
  for (const name of ['a', 'b', 'c', 'd']) run(name);
  assert.deepEqual(begun, ['a', 'b'], 'at once');
  await end('b');
  assert.deepEqual([begun, done], [['a', 'b', 'c'], ['b']]);
  run('e');
  await end('a');
  await end('c');
  assert.deepEqual(
    [begun, done],
    [
      ['a', 'b', 'c', 'd', 'e'],
      ['b', 'a', 'c'],
    ],
  );
});

test('a place that is free again is taken at once', async () => {
  const { run, end, begun } = bench(1);
  run('a');
  await end('a');
  run('b');
  assert.deepEqual(begun, ['a', 'b']);
});
