import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { TimerHeap } from './heap.ts';

test('law: what is entered is taken in the order of time, then of entering, and what is taken off never', () => {
  const entries = fc.array(fc.record({ at: fc.nat(20), off: fc.boolean() }), { maxLength: 200 });
  fc.assert(
    fc.property(entries, fc.nat(25), (given, by) => {
      const timerHeap = new TimerHeap();
      const done: number[] = [];
      for (const [index, { at, off }] of given.entries()) {
        const cancel = timerHeap.enter(at, () => done.push(index));
        if (off) cancel();
      }
      for (let entry = timerHeap.take(by); entry !== undefined; entry = timerHeap.take(by))
        entry.task();
      const wanted = [...given.entries()]
        .filter(([, { at, off }]) => at <= by && !off)
        .toSorted(([, one], [, other]) => one.at - other.at);
      assert.deepEqual(
        done,
        wanted.map(([index]) => index),
      );
    }),
  );
});
