import assert from 'node:assert/strict';
import { test } from 'node:test';
import { columns, cutTo, displayWidth, padTo } from './columns.ts';

test('a width is what a terminal shows: two columns for CJK and emoji, none for marks', () => {
  const widths: readonly (readonly [string, number])[] = [
    ['abc', 3],
    ['', 0],
    ['世界', 4],
    ['한국', 4],
    ['🚀', 2],
    ['🇩🇪', 2],
    ['e\u0301', 1],
    ['❤️', 2],
    ['é', 1],
  ];
  for (const [text, width] of widths) assert.equal(displayWidth(text), width, text);
  assert.equal(padTo('世', 4), '世  ');
  assert.equal(cutTo('世界', 3), '世');
  assert.equal(cutTo('e\u0301e\u0301', 1), 'e\u0301');
});

test('columns stand under each other, whatever script is in them', () => {
  const lines = columns(
    [
      ['NAME', 'REASON', 'END'],
      ['世界', 'e\u0301', 'x'],
      ['a', '🚀 up', 'y'],
    ],
    2,
  );
  assert.deepEqual(lines, ['NAME  REASON  END', '世界  e\u0301       x', 'a     🚀 up   y']);
});

test('a cell breaks no row, and does not make all of them endless', () => {
  const [head, row] = columns(
    [
      ['A', 'B'],
      ['a\nb\u001b', 'x'.repeat(100_000)],
    ],
    2,
  );
  assert.equal(head, 'A       B');
  assert.equal(row?.slice(0, 10), 'a\\nb^[  xx');
  assert.equal(row?.length, 8 + 1000);
});
