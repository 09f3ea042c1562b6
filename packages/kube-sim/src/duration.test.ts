import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationMs } from './object.ts';

test('seconds overflow as they do in Go, of which these numbers are', () => {
  const cases: readonly (readonly [seconds: number, ms: number])[] = [
    [0, 0],
    [0.5, 500],
    [-1, -1000],
    [31_536_000, 31_536_000_000],
    [9_223_372_036, 9_223_372_036_000],
    [9_223_372_037, -9_223_372_036_709],
    [20_000_000_000, 1_553_255_926_290],
    [9_000_000_000_000, -2_011_107_970_261],
  ];
  assert.deepEqual(
    cases.map(([seconds]) => durationMs(seconds)),
    cases.map(([, ms]) => ms),
  );
});
