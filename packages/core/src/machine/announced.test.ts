import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { makeEvent } from '../testing/make-machine.ts';
import { byUrgency, type MachineEvent, mergeEvents, sorted } from './event.ts';

const now = at(0);
function brief(events: readonly MachineEvent[]) {
  return events.map(({ id, state, source }) => `${id} ${state} ${source}`);
}
const all = { source: 'aws', complete: true };
const some = { source: 'aws', complete: false };

test('what is told is kept, new ones come after those that are known', () => {
  const after = mergeEvents(
    [makeEvent({ id: 'a' })],
    [makeEvent({ id: 'b' }), makeEvent({ id: 'a', state: 'Active' })],
    all,
    now,
  );
  assert.deepEqual(brief(after), ['a Active aws', 'b Scheduled aws']);
  const other = mergeEvents(
    [makeEvent({ id: 'a' })],
    [makeEvent({ id: 'a', provider: 'azure', source: 'azure' })],
    some,
    now,
  );
  assert.deepEqual(
    brief(other),
    ['a Scheduled aws', 'a Scheduled azure'],
    'one id of two clouds is two events',
  );
});

test('what is not told any more has happened when it was due, and was called off when it was not', () => {
  const gone = (over: Partial<MachineEvent>, look = all) =>
    mergeEvents([makeEvent(over)], [], look, now)[0]?.state;
  assert.equal(gone({}), 'Cancelled');
  assert.equal(gone({ notBefore: at(1) }), 'Cancelled');
  assert.equal(gone({ notBefore: at(0) }), 'Completed');
  assert.equal(gone({ notBefore: at(-1) }), 'Completed');
  assert.equal(gone({ state: 'Active' }), 'Completed');
  assert.equal(gone({ state: 'Completed' }), 'Completed');
  assert.equal(gone({ state: 'Cancelled', notBefore: at(-1) }), 'Cancelled');
  assert.equal(gone({}, some), 'Scheduled', 'only a complete look tells what is not');
  assert.equal(gone({ source: 'agent/n1' }), 'Scheduled', 'what another source says stays');
});

test('two sources of one cloud tell one event: whoever told it first has the say, from the other only that it is further on', () => {
  const states = ['Scheduled', 'Active', 'Completed', 'Cancelled'] as const;
  const after = (known: MachineEvent['state'], told: MachineEvent['state'], source: string) =>
    mergeEvents(
      [makeEvent({ state: known })],
      [makeEvent({ state: told, source, deadline: at(9) })],
      { source, complete: false },
      now,
    );
  for (const known of states)
    for (const told of states) assert.equal(after(known, told, 'aws')[0]?.state, told);
  const further = [
    ['Scheduled', 'Active'],
    ['Scheduled', 'Completed'],
    ['Scheduled', 'Cancelled'],
    ['Active', 'Completed'],
    ['Active', 'Cancelled'],
  ];
  for (const known of states) {
    for (const told of states) {
      const goes = further.some(([from, to]) => from === known && to === told);
      const [event, ...others] = after(known, told, 'agent/n1');
      assert.deepEqual(
        [event?.state, event?.source, others.length],
        [goes ? told : known, 'aws', 0],
        `${known}, then ${told}`,
      );
      assert.equal(event?.deadline?.toString(), makeEvent().deadline?.toString());
    }
  }
});

test('an event that an object of the replaced operator stands for is the same by its id or its code', () => {
  const seed = (id: string, over: Partial<MachineEvent> = {}) =>
    makeEvent({ id, source: 'machine-maintenance-operator', ...over });
  const told = makeEvent({ id: 'e1', code: 'instance-stop' });
  const after = (known: MachineEvent) => brief(mergeEvents([known], [told], some, now));
  assert.deepEqual(after(seed('e1')), ['e1 Scheduled aws']);
  assert.deepEqual(after(seed('instance-stop')), ['e1 Scheduled aws']);
  assert.deepEqual(after(seed('other')), [
    'other Scheduled machine-maintenance-operator',
    'e1 Scheduled aws',
  ]);
  assert.equal(after(seed('e1', { provider: 'azure' })).length, 2);
  assert.equal(after(makeEvent({ id: 'instance-stop', source: 'by hand' })).length, 2);
});

test('pending ones come first, then the earliest, then by id; one without a deadline comes last', () => {
  const events = [
    makeEvent({ id: 'over', state: 'Completed', deadline: at(1) }),
    makeEvent({ id: 'b', deadline: at(5) }),
    makeEvent({ id: 'a', deadline: at(5) }),
    makeEvent({ id: 'late', deadline: at(9), state: 'Active' }),
  ];
  const { deadline: _, ...never } = makeEvent({ id: '0' });
  for (const told of [
    [...events, never],
    [never, ...events.toReversed()],
  ]) {
    assert.deepEqual(
      sorted(told).map(({ id }) => id),
      ['a', 'b', 'late', '0', 'over'],
    );
  }
  assert.ok(byUrgency(never, { ...never, id: 'z' }) < 0);
  assert.equal(
    sorted(Array.from({ length: 40 }, (_, n) => makeEvent({ id: String(n) }))).length,
    32,
  );
});

test('of one sender the word that it wrote last counts, however late another comes; what was over is another occurrence when it is announced anew', () => {
  const states = ['Scheduled', 'Active', 'Completed', 'Cancelled'] as const;
  const isOver = (state: MachineEvent['state']): boolean =>
    state === 'Completed' || state === 'Cancelled';
  const times = [undefined, 1, 2, 3] as const;
  const event = (
    state: MachineEvent['state'],
    second: number | undefined,
    over: Partial<MachineEvent> = {},
  ): MachineEvent =>
    makeEvent({ state, ...(second !== undefined && { announcedAt: at(second) }), ...over });
  for (const known of states)
    for (const told of states)
      for (const before of times)
        for (const then of times)
          for (const occurrence of [undefined, 4]) {
            const what = `${known} ${before}, then ${told} ${then}`;
            const [after] = mergeEvents(
              [event(known, before, occurrence === undefined ? {} : { occurrence })],
              [event(told, then)],
              some,
              now,
            );
            const late =
              before !== undefined &&
              then !== undefined &&
              (then < before || (then === before && isOver(known) && !isOver(told)));
            const anew = !late && isOver(known) && !isOver(told);
            assert.equal(after?.state, late ? known : told, what);
            assert.equal(after?.occurrence, anew ? (occurrence ?? 1) + 1 : occurrence, what);
            assert.equal(
              after?.announcedAt?.toString(),
              (late || then === undefined ? before : then) &&
                at((late ? before : (then ?? before)) ?? 0).toString(),
              what,
            );
          }
});
