import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { at } from '../testing/make.ts';
import { countOf, estimateEnd, percentOf, startCounter, updateCounter } from './drain-counter.ts';

test('a new maintenance counts what it sees leave', () => {
  const first = updateCounter(startCounter({ toEvict: 0, gone: 0 }, 3), ['a', 'b', 'c'], []);
  assert.deepEqual(countOf(first, 3), { toEvict: 3, gone: 0, waiting: 3 });
  assert.deepEqual(countOf(updateCounter(first, ['c'], []), 1), {
    toEvict: 3,
    gone: 2,
    waiting: 1,
  });
});

test('a late pod adds to what has to leave, and takes nothing from what has left', () => {
  const first = updateCounter(startCounter({ toEvict: 0, gone: 0 }, 2), ['a', 'b'], []);
  assert.deepEqual(countOf(updateCounter(first, ['late'], []), 1), {
    toEvict: 3,
    gone: 2,
    waiting: 1,
  });
});

test('after a restart it goes on from what is stored; what left meanwhile has left', () => {
  const tally = updateCounter(startCounter({ toEvict: 10, gone: 3 }, 4), ['a', 'b', 'c', 'd'], []);
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

test('a pod that need not leave any more has not left; when it has to after all, nothing is taken back', () => {
  const first = updateCounter(startCounter({ toEvict: 0, gone: 0 }, 2), ['a', 'daemon'], []);
  const spared = updateCounter(first, [], ['daemon']);
  assert.deepEqual(countOf(spared, 0), { toEvict: 1, gone: 1, waiting: 0 });
  const again = updateCounter(spared, ['daemon'], []);
  assert.deepEqual(countOf(again, 1), { toEvict: 2, gone: 1, waiting: 1 });
  assert.deepEqual(countOf(updateCounter(again, [], []), 0), { toEvict: 2, gone: 2, waiting: 0 });
});

test('law: what has left never falls, and is what has left, whatever comes and goes and is spared', () => {
  const look = fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), fc.boolean());
  fc.assert(
    fc.property(fc.array(look, { minLength: 1, maxLength: 8 }), looks => {
      const [gone, waited] = [new Set<string>(), new Set<string>()];
      let tally = startCounter({ toEvict: 0, gone: 0 }, 0);
      let [before, there] = [0, new Set<string>()];
      for (const found of looks) {
        // A uid never comes back.
        const present = Object.entries(found).filter(([uid]) => !gone.has(uid));
        const uidsOf = (leaving: boolean): readonly string[] =>
          present.flatMap(([uid, leaves]) => (leaves === leaving ? [uid] : []));
        const [waiting, staying] = [uidsOf(true), uidsOf(false)];
        for (const uid of there.difference(new Set(present.map(([uid]) => uid)))) gone.add(uid);
        for (const uid of waiting) waited.add(uid);
        for (const uid of staying) waited.delete(uid);
        there = new Set(present.map(([uid]) => uid));
        tally = updateCounter(tally, waiting, staying);
        const count = countOf(tally, waiting.length);
        assert.deepEqual(count, {
          toEvict: waited.size,
          gone: waited.intersection(gone).size,
          waiting: waiting.length,
        });
        assert.ok(count.gone >= before);
        before = count.gone;
      }
    }),
  );
});
