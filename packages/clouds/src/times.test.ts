import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findTime, readCloudTime, readEpochSeconds } from './signals.ts';

const times: readonly (readonly [unknown, string | undefined])[] = [
  ['1 Jan 2030 00:00:00 GMT', '2030-01-01T00:00:00Z'],
  ['21 Jan 2030 09:00:43 GMT', '2030-01-21T09:00:43Z'],
  ['Mon, 19 Sep 2016 18:29:47 GMT', '2016-09-19T18:29:47Z'],
  ['Mon, 9 Sep 2016 18:29:47 GMT', '2016-09-09T18:29:47Z'],
  [' Mon, 19 Sep 2016 18:29:47 UTC ', '2016-09-19T18:29:47Z'],
  ['2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z'],
  ['2030-01-01T02:00:00.5+02:00', '2030-01-01T00:00:00.5Z'],
  ['2030-01-01T00:00:00', undefined],
  ['1 Jan 2030 00:00:00', undefined],
  ['1 Foo 2030 00:00:00 GMT', undefined],
  ['31 Feb 2030 00:00:00 GMT', undefined],
  ['1 Jan 2030 25:00:00 GMT', undefined],
  ['from 1 Jan 2030 00:00:00 GMT on', undefined],
  ['', undefined],
  ['soon', undefined],
  [1_893_456_000, undefined],
  [null, undefined],
  [undefined, undefined],
];
for (const [text, time] of times)
  test(`${JSON.stringify(text)} is ${time}`, () =>
    assert.equal(readCloudTime(text)?.toString(), time));

test('a time is found within a sentence', () => {
  const message =
    'Preempt Scheduled: Wed, 26 Feb 2025 10:13:13 GMT. DurationInSeconds: -1.  For more information, see a page.';
  assert.equal(String(findTime(message)), '2025-02-26T10:13:13Z');
  assert.equal(findTime('VM has no scheduled event'), undefined);
});

test('seconds since 1970 are read, and nothing else is taken for them', () => {
  assert.equal(String(readEpochSeconds('1733083178')), '2024-12-01T19:59:38Z');
  for (const text of ['', '-1', '1.5', '1e9', '999999999999', 'true'])
    assert.equal(readEpochSeconds(text), undefined, text);
});
