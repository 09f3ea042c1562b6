import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { makePlanSnapshot, makeVerdict } from '../testing/make-plan.ts';
import { sortRecords } from './contest.ts';
import { decidePlan } from './decide.ts';
import { verdictTypes } from './in-flight.ts';
import type { RecordSlice } from './snapshot.ts';
import { recordWrite } from './writes.ts';

function slice(run: string, revision: string, number: number, seconds: number): RecordSlice {
  return {
    key: `${run}-${revision}-${number}`,
    name: `${run}-${revision}-${number}`,
    uid: `uid-${run}-${revision}-${number}`,
    resourceVersion: '1',
    planUid: 'uid-kernel',
    run,
    revision,
    slice: number,
    verdicts: [makeVerdict('n1', { completedAt: at(seconds) })],
  };
}

test('the records of this run in order, and those of all but the last three runs before to be deleted, one at a decision', () => {
  const all = [
    slice('5', 'b', 1, 900),
    slice('5', 'b', 0, 800),
    slice('1', 'a', 0, 100),
    slice('1', 'a', 1, 150),
    slice('2', 'a', 0, 200),
    slice('3', 'a', 0, 300),
    slice('5', 'a', 0, 500),
  ];
  const { slices, outdated } = sortRecords(all, { id: '5', revision: 'b' });
  assert.deepEqual(
    slices.map(({ name }) => name),
    ['5-b-0', '5-b-1'],
  );
  assert.deepEqual(outdated.map(({ name }) => name).toSorted(), ['1-a-0', '1-a-1']);
  const { writes } = decidePlan(makePlanSnapshot({ outdated }), at(0));
  assert.deepEqual(
    writes.map(({ method, path, body }) => ({ method, path, body })),
    [
      {
        method: 'DELETE',
        path: '/apis/drydock.dev/v1alpha1/maintenanceplanrecords/1-a-0',
        body: { preconditions: { uid: 'uid-1-a-0' } },
      },
    ],
  );
});

test('a name keeps its verdicts in one slice each, but for those of nodes that are gone and that nothing was done to', () => {
  const to = (verdict: (typeof verdictTypes)[number], uid: string): string => {
    const snapshot = makePlanSnapshot({ verdicts: [makeVerdict('n1', { verdict, uid })] });
    return recordWrite(snapshot, makeVerdict('n1', { uid: 'uid-now' }), 'r1').method;
  };
  assert.deepEqual(
    Object.fromEntries(
      verdictTypes.map(word => [word, [to(word, 'uid-now'), to(word, 'uid-before')]]),
    ),
    {
      Done: ['PATCH', 'POST'],
      Failed: ['PATCH', 'POST'],
      Requeued: ['PATCH', 'PATCH'],
      Skipped: ['PATCH', 'PATCH'],
      Gone: ['PATCH', 'PATCH'],
    },
  );
});
