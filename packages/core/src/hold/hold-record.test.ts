import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Marks } from '../node/marks.ts';
import {
  emptyRecord,
  type HoldRecord,
  holdersIn,
  isEmpty,
  isOutdated,
  readHoldRecord,
  writeHoldRecord,
} from './hold-record.ts';

const mark = { key: 'a/drain', effect: 'NoSchedule' };
const id = 'a/drain:NoSchedule';
const marks: Marks = { unschedulable: true, taints: [mark], labels: { team: 'x' } };
function read(record: object) {
  return readHoldRecord(JSON.stringify(record), marks);
}
const plain = { taints: {}, labels: {} };

describe('the taint that a record tells', () => {
  const timeAdded = '2026-11-21T08:00:00Z';
  // Undefined: it tells none.
  const rows: readonly (readonly [what: string, told: unknown, read: unknown])[] = [
    ['none was there', null, null],
    ['the mark alone', mark, mark],
    ['with a value', { ...mark, value: 'v' }, { ...mark, value: 'v' }],
    ['with an empty value', { ...mark, value: '' }, { ...mark, value: '' }],
    ['with its time', { ...mark, timeAdded }, { ...mark, timeAdded }],
    ['with a time that is none', { ...mark, timeAdded: 'yesterday' }, mark],
    ['with a time that is no text', { ...mark, timeAdded: 5 }, mark],
    ['with more than taints have', { ...mark, more: true }, mark],
    ['another key', { ...mark, key: 'b' }, undefined],
    ['another effect', { ...mark, effect: 'NoExecute' }, undefined],
    ['a value that no taint can have', { ...mark, value: 'not one' }, undefined],
    ['a value that is a number', { ...mark, value: 7 }, undefined],
    ['no value, told as null', { ...mark, value: null }, undefined],
    ['no object', 'x', undefined],
  ];
  for (const [what, told, wanted] of rows)
    test(`${what}: ${wanted === undefined ? 'not believed' : 'kept'}`, () => {
      assert.deepEqual(
        read({ taints: { [id]: told } })?.taints,
        wanted === undefined ? {} : { [id]: wanted },
      );
    });
});

test('labels and the cordon are believed where they can have been so', () => {
  const labels = (team: unknown) => read({ labels: { team, other: 'y' } })?.labels;
  assert.deepEqual(
    [labels('y'), labels(''), labels(null), labels(7), labels('no value'), labels('-')],
    [{ team: 'y' }, { team: '' }, { team: null }, {}, {}, {}],
  );
  assert.deepEqual(
    [read({ unschedulable: false }), read({ unschedulable: 'true' })],
    [{ ...plain, unschedulable: false }, plain],
  );
});

test('the kinds that hold the node are told by name, and not at all where there are none', () => {
  assert.deepEqual(read({ kinds: ['b', 7, 'a', null] }), { ...plain, kinds: ['b', 'a'] });
  assert.deepEqual(holdersIn('{"kinds":["b",7,"a"]}'), ['b', 'a']);
  for (const kinds of [[], [7], 'a', undefined]) assert.deepEqual(read({ kinds }), plain);
});

test('a record that is far longer than ours, or is no record, tells nothing; none is none', () => {
  const record = (length: number): string => {
    const text = '{"unschedulable":true,"x":""}';
    return text.replace('""', `"${'x'.repeat(length - text.length)}"`);
  };
  assert.deepEqual(readHoldRecord(record(16_384), marks), { ...plain, unschedulable: true });
  for (const text of [record(16_385), '[]', 'null', '7', '{'])
    assert.deepEqual(readHoldRecord(text, marks), plain);
  assert.equal(readHoldRecord(undefined, marks), undefined);
});

test('the same content is always the same text', () => {
  const before: HoldRecord = {
    unschedulable: false,
    taints: { b: null, a: mark },
    labels: { d: 'x', c: null },
    kinds: ['z', 'y', 'z'],
  };
  assert.equal(
    writeHoldRecord(before),
    '{"unschedulable":false,"taints":{"a":{"key":"a/drain","effect":"NoSchedule"},"b":null},"labels":{"c":null,"d":"x"},"kinds":["y","z"]}',
  );
  assert.equal(writeHoldRecord({ ...plain, kinds: [] }), '{"taints":{},"labels":{}}');
});

test('a record is empty when it tells of no cordon, no taint and no label, whoever holds the node', () => {
  assert.equal(isEmpty(emptyRecord), true);
  assert.equal(isEmpty({ ...plain, kinds: ['a'] }), true);
  for (const one of [
    { unschedulable: false },
    { taints: { [id]: null } },
    { labels: { team: null } },
  ])
    assert.equal(isEmpty({ ...plain, ...one }), false, JSON.stringify(one));
});

describe('a record is outdated when every taint is gone that only the hold can have put there', () => {
  const cordon = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };
  const other = { key: 'b/drain', effect: 'NoSchedule' };
  const cordonId = 'node.kubernetes.io/unschedulable:NoSchedule';
  const rows: readonly (readonly [
    what: string,
    HoldRecord['taints'],
    present: readonly (typeof mark)[],
    boolean,
  ])[] = [
    ['it is gone', { [id]: null }, [other], true],
    ['it is there', { [id]: null }, [mark], false],
    ['one of two is there', { [id]: null, 'b/drain:NoSchedule': null }, [other], false],
    ['it was there before', { [id]: mark }, [], false],
    ['only that of the cordon was put there, and is gone', { [cordonId]: null }, [], false],
    ['it is gone, and the node is cordoned', { [id]: null, [cordonId]: null }, [cordon], true],
    [
      'it is gone, and one is there that was before',
      { [id]: null, 'b/drain:NoSchedule': other },
      [other],
      true,
    ],
    ['nothing was put there', {}, [], false],
  ];
  for (const [what, taints, present, outdated] of rows)
    test(`${what}: ${outdated ? 'outdated' : 'it counts'}`, () =>
      assert.equal(isOutdated({ taints, labels: {} }, present), outdated));
});
