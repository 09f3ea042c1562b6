import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '@drydock/utils';
import { goDuration, integer, longFlags, plainBooleans, seconds } from './fail.ts';

test('durations are read as Go reads them', () => {
  const table: readonly (readonly [string, number])[] = [
    ['0', 0],
    ['0s', 0],
    ['90s', 90],
    ['1h30m', 5400],
    ['1.5m', 90],
    ['300ms', 0.3],
    ['-5s', -5],
  ];
  for (const [text, expected] of table) assert.equal(seconds('--timeout', text), expected, text);
  for (const text of ['', '5', 's', '5 s', '1d', '1h-5m', 'soon'])
    assert.throws(() => seconds('--timeout', text), UsageError, text);
});

test('durations are written as Go writes them', () => {
  assert.deepEqual([0.5, 1, 30, 90, 3600, 5415.25].map(goDuration), [
    '500ms',
    '1s',
    '30s',
    '1m30s',
    '1h0m0s',
    '1h30m15.25s',
  ]);
});

test('whole numbers are whole', () => {
  assert.deepEqual(
    ['-1', '0', '+30'].map(text => integer('--grace-period', text)),
    [-1, 0, 30],
  );
  for (const text of ['', '1.5', 'ten', '0x10'])
    assert.throws(() => integer('--grace-period', text), UsageError, text);
});

test('boolean flags have their value behind an equals sign, and never in the next word', () => {
  const flags = ['--force'];
  assert.deepEqual(plainBooleans(['drain', '--force', 'n1'], flags), ['drain', '--force', 'n1']);
  assert.deepEqual(plainBooleans(['--force=true', '--force=0', '--other=true'], flags), [
    '--force',
    '--other=true',
  ]);
  assert.deepEqual(plainBooleans(['--', '--force=false'], flags), ['--', '--force=false']);
  assert.throws(() => plainBooleans(['--force=perhaps'], flags), UsageError);
});

test('flags with one dash, as Go programs take them, are those with two', () => {
  assert.deepEqual(
    longFlags([
      'operator',
      '-metrics-bind-address=:1',
      '-leader-elect',
      '--zap-devel',
      '-zap-log-level',
      '5',
      '-n',
      '-1',
    ]),
    [
      'operator',
      '--metrics-bind-address=:1',
      '--leader-elect',
      '--zap-devel',
      '--zap-log-level',
      '5',
      '-n',
      '-1',
    ],
  );
});
