import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveAmount } from './quantity.ts';

test('a percent is rounded down, to at least one; a number stays; 0 is none; what is neither is nothing', () => {
  const percents = ['1%', '10%', '33%', '50%', '100%'];
  const table = new Map<number, readonly number[]>([
    [1, [1, 1, 1, 1, 1]],
    [2, [1, 1, 1, 1, 2]],
    [3, [1, 1, 1, 1, 3]],
    [7, [1, 1, 2, 3, 7]],
    [9, [1, 1, 2, 4, 9]],
    [10, [1, 1, 3, 5, 10]],
    [11, [1, 1, 3, 5, 11]],
    [412, [4, 41, 135, 206, 412]],
  ]);
  for (const [total, wanted] of table) {
    assert.deepEqual(
      percents.map(percent => resolveAmount(percent, total)),
      wanted,
      `of ${total}`,
    );
    assert.deepEqual(
      [resolveAmount(0, total), resolveAmount('0', total), resolveAmount(3, total)],
      [0, 0, 3],
    );
  }
  for (const wrong of ['0%', '101%', '1.5%', '-1', '', 'x', '10 %', -1, 1.5, Number.NaN])
    assert.equal(resolveAmount(wrong, 10), undefined, String(wrong));
});
