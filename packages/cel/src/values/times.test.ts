import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTimestamp } from './times.ts';

/**
 * What Go 1.26's time.Parse(time.RFC3339, …) makes of these, in UTC; undefined: it refuses. cel-go
 * takes what it takes, of the years 1 to 9999.
 */
const read: readonly (readonly [text: string, instant: string | undefined])[] = [
  ['2016-12-31T23:59:60Z', undefined],
  ['2016-12-31T23:59:59Z', '2016-12-31T23:59:59Z'],
  ['2016-12-31T23:60:00Z', undefined],
  ['2016-12-31T24:00:00Z', undefined],
  ['2020-01-01T00:00:00.1234567891Z', '2020-01-01T00:00:00.123456789Z'],
  ['2020-01-01T00:00:00.123456789999999999999Z', '2020-01-01T00:00:00.123456789Z'],
  ['2020-01-01T00:00:00.Z', undefined],
  ['2020-01-01T00:00:00,5Z', '2020-01-01T00:00:00.5Z'],
  ['2020-01-01T00:00:00.5Z', '2020-01-01T00:00:00.5Z'],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00Z'],
  ['0001-01-01T00:00:00Z', '0001-01-01T00:00:00Z'],
  ['0001-01-01T00:00:00+00:01', '0000-12-31T23:59:00Z'],
  ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999999999Z'],
  ['9999-12-31T23:59:59-00:01', '10000-01-01T00:00:59Z'],
  ['10000-01-01T00:00:00Z', undefined],
  ['2020-01-01t00:00:00Z', undefined],
  ['2020-01-01T00:00:00z', undefined],
  ['2020-01-01 00:00:00Z', undefined],
  ['2020-01-01T00:00:00+24:00', '2019-12-31T00:00:00Z'],
  ['2020-01-01T00:00:00+23:59', '2019-12-31T00:01:00Z'],
  ['2020-01-01T00:00:00+24:01', '2019-12-30T23:59:00Z'],
  ['2020-01-01T00:00:00+25:00', undefined],
  ['2020-01-01T00:00:00+99:59', undefined],
  ['2020-01-01T00:00:00+00:60', '2019-12-31T23:00:00Z'],
  ['2020-01-01T00:00:00+00:59', '2019-12-31T23:01:00Z'],
  ['2020-01-01T00:00:00-00:00', '2020-01-01T00:00:00Z'],
  ['2020-01-01T00:00:00+0000', undefined],
  ['2020-01-01T00:00:00+00', undefined],
  ['2020-01-01T00:00:00-24:00', '2020-01-02T00:00:00Z'],
  ['2020-02-30T00:00:00Z', undefined],
  ['2019-02-29T00:00:00Z', undefined],
  ['2020-02-29T00:00:00Z', '2020-02-29T00:00:00Z'],
  ['2020-13-01T00:00:00Z', undefined],
  ['2020-00-01T00:00:00Z', undefined],
  ['2020-01-00T00:00:00Z', undefined],
  ['2020-1-01T00:00:00Z', undefined],
  ['2020-01-01T0:00:00Z', '2020-01-01T00:00:00Z'],
  ['2020-01-01T5:00:00Z', '2020-01-01T05:00:00Z'],
  ['2020-01-01T00:0:00Z', undefined],
  ['2020-01-01T00:00:00', undefined],
  ['2020-01-01', undefined],
  ['', undefined],
  ['2020-01-01T00:00Z', undefined],
  [' 2020-01-01T00:00:00Z', undefined],
  ['2020-01-01T00:00:00Z ', undefined],
  ['+2020-01-01T00:00:00Z', undefined],
  ['-2020-01-01T00:00:00Z', undefined],
  ['2020-01-01T00:00:60.5Z', undefined],
  ['2020-01-01T00:00:61Z', undefined],
];

const outside = /^(0000|10000)/;

for (const [text, instant] of read)
  test(`timestamp(${JSON.stringify(text)}) is ${instant === undefined ? 'no timestamp' : instant}, as for Go`, () => {
    if (instant === undefined) assert.throws(() => readTimestamp(text), /type conversion error/);
    else if (outside.test(instant)) assert.throws(() => readTimestamp(text), /timestamp overflow/);
    else assert.equal(readTimestamp(text).toString(), instant);
  });
