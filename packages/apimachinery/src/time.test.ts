import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { earliest, instantAt, readTime, secondsAfter, secondsBetween, timeText } from './time.ts';

function time(text: string): Temporal.Instant {
  return Temporal.Instant.from(text);
}

test('a time is RFC 3339: four digits for the year, whatever else Temporal reads', () => {
  assert.equal(readTime('2026-12-24T18:00:00+01:00')?.toString(), '2026-12-24T17:00:00Z');
  for (const text of ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '9999-12-31T23:59:59.999Z'])
    assert.ok(readTime(text), text);
  const odd = [
    '+275760-09-13T00:00:00Z',
    '-271821-04-20T00:00:00Z',
    '+010000-01-01T00:00:00Z',
    '0000-12-31T23:59:59Z',
    '2026-13-01T00:00:00Z',
    'now',
    '',
    7,
    null,
    ['2026-12-24T18:00:00Z'],
  ];
  for (const text of odd) assert.equal(readTime(text), undefined, String(text));
});

test('sums of whatever times and numbers there are never throw, stay within the years 1 to 9999, and can be written and read again', () => {
  const moment = fc.date({
    min: new Date('0001-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  });
  const seconds = fc.oneof(
    fc.double(),
    fc.maxSafeInteger(),
    fc.constantFrom(2 ** 63 - 1, -(2 ** 63), 1e300, -0),
  );
  fc.assert(
    fc.property(moment, seconds, (date, number) => {
      const sum = secondsAfter(instantAt(date.getTime()), number);
      assert.deepEqual(
        readTime(timeText(sum))?.epochMilliseconds,
        Math.floor(sum.epochMilliseconds / 1000) * 1000,
      );
    }),
  );
});

test('within the range sums are exact to the millisecond', () => {
  const start = time('2026-11-22T10:00:00Z');
  assert.equal(secondsAfter(start, 0.0015).toString(), '2026-11-22T10:00:00.002Z');
  assert.equal(secondsAfter(start, -86_400).toString(), '2026-11-21T10:00:00Z');
  assert.equal(secondsBetween(start, secondsAfter(start, 12.345)), 12.345);
  assert.equal(
    secondsAfter(start, Number.POSITIVE_INFINITY).toString(),
    '9999-12-31T23:59:59.999Z',
  );
  assert.equal(secondsAfter(start, Number.NEGATIVE_INFINITY).toString(), '0001-01-01T00:00:00Z');
  assert.equal(secondsAfter(start, Number.NaN).toString(), start.toString());
});

test('the earliest of several, of which some are missing', () => {
  const [first, second] = [time('2026-01-01T00:00:00Z'), time('2026-01-02T00:00:00Z')];
  assert.equal(earliest([undefined, second, first]), first);
  assert.equal(earliest([undefined]), undefined);
});
