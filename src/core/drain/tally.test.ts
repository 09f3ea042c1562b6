import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { at } from '../testing/make.ts';
import { addTally, countOf, estimateEnd, percentOf, startTally } from './tally.ts';

test('a new maintenance counts what it sees leave', () => {
  const first = addTally(startTally({ toEvict: 0, gone: 0 }, 3), ['a', 'b', 'c']);
  assert.deepEqual(countOf(first, 3), { toEvict: 3, gone: 0, waiting: 3 });
  assert.deepEqual(countOf(addTally(first, ['c']), 1), { toEvict: 3, gone: 2, waiting: 1 });
});

test('a late pod adds to what has to leave, and takes nothing from what has left', () => {
  const first = addTally(startTally({ toEvict: 0, gone: 0 }, 2), ['a', 'b']);
  assert.deepEqual(countOf(addTally(first, ['late']), 1), { toEvict: 3, gone: 2, waiting: 1 });
});

test('after a restart it goes on from what is stored; what left meanwhile has left', () => {
  const tally = addTally(startTally({ toEvict: 10, gone: 3 }, 4), ['a', 'b', 'c', 'd']);
  assert.deepEqual(countOf(tally, 4), { toEvict: 10, gone: 6, waiting: 4 });
});

test('percent is whole, never outside 0 to 100, and 100 only when all have left', () => {
  assert.equal(percentOf({ toEvict: 0, gone: 0 }), 0);
  assert.equal(percentOf({ toEvict: 3, gone: 2 }), 66);
  assert.equal(percentOf({ toEvict: 1000, gone: 999 }), 99);
  assert.equal(percentOf({ toEvict: 2, gone: -1 }), 0);
});

test('the end is told from the rate so far, once three have left', () => {
  const told = (gone: number, waiting: number): number | undefined =>
    estimateEnd(at(0), at(30), { toEvict: gone + waiting, gone, waiting })?.epochMilliseconds;
  assert.equal(told(2, 4), undefined);
  assert.equal(told(3, 4), at(70).epochMilliseconds);
  assert.equal(told(10, 0), undefined);
});

test('law: what has left never falls, whatever comes and goes', () => {
  const looks = fc.array(fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd', 'e', 'f')), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(looks, looks => {
      let tally = startTally({ toEvict: 0, gone: 0 }, looks[0]?.length ?? 0);
      const left = new Set<string>();
      let before = 0;
      for (const pods of looks) {
        // A uid never comes back.
        const present = pods.filter(uid => !left.has(uid));
        for (const uid of tally.seen) if (!present.includes(uid)) left.add(uid);
        tally = addTally(tally, present);
        const { gone, toEvict, waiting } = countOf(tally, present.length);
        assert.ok(gone >= before && toEvict === gone + waiting);
        before = gone;
      }
    }),
  );
});
