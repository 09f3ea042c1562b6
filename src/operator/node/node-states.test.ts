import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noNotes } from '../../core/maintenance/snapshot.ts';
import { at } from '../../core/testing/make.ts';
import { Desk } from './node-states.ts';

test('a node that nobody has looked at has a blank sheet', () => {
  assert.deepEqual(new Desk().of('n1'), { notes: noNotes, remaining: 0, failures: 0 });
});

test('pauses double from failure to failure up to a limit', () => {
  const waits = (count: number): readonly number[] => {
    const desk = new Desk();
    return Array.from({ length: count }, () => desk.failed('n1'));
  };
  assert.deepEqual(waits(9), [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5]);
  assert.equal(waits(2000).at(-1), 5);
});

test('one node does not slow down another', () => {
  const desk = new Desk();
  desk.failed('n1');
  assert.equal(desk.failed('n2'), 0.02);
});

test('a refusal is remembered until a write succeeds, and the notes survive both', () => {
  const desk = new Desk();
  const notes = { ...noNotes, leaseMissedAt: at(1) };
  desk.note('n1', notes, 4);
  desk.refused('n1', 'forbidden (HTTP 403)');
  assert.deepEqual(desk.of('n1').trouble, { reason: 'WriteRefused', message: 'cannot write: forbidden (HTTP 403)' });
  desk.failed('n1');
  desk.note('n1', notes, 3);
  assert.match(desk.of('n1').trouble?.message ?? '', /forbidden/);
  desk.succeeded('n1');
  assert.deepEqual(desk.of('n1'), { notes, remaining: 3, failures: 0 });
  assert.equal(desk.failed('n1'), 0.02, 'the next failure is a first one');
});

test('success on a node without a sheet does not make one', () => {
  const desk = new Desk();
  desk.succeeded('n1');
  desk.note('n2', { ...noNotes, blockedSince: new Map([['Terminating shop/a ', at(0)]]) }, 1);
  desk.forget('n2');
  assert.deepEqual(desk.of('n2').remaining, 0);
  assert.deepEqual([...desk.blockers()], []);
});

test('blockers are counted by cause over all nodes', () => {
  const desk = new Desk();
  const since = (...ids: readonly string[]): ReadonlyMap<string, Temporal.Instant> => new Map(ids.map(id => [id, at(0)]));
  desk.note('n1', { ...noNotes, blockedSince: since('DisruptionBudget shop/a ', 'Terminating shop/b ') }, 2);
  desk.note('n2', { ...noNotes, blockedSince: since('DisruptionBudget shop/c ', 'VolumeAttached  pv-1') }, 1);
  assert.deepEqual(Object.fromEntries(desk.blockers()), { DisruptionBudget: 2, Terminating: 1, VolumeAttached: 1 });
});

test('a report that was not stored counts as not said', () => {
  const desk = new Desk();
  const said = { at: at(1), gist: 'Draining' };
  desk.note(
    'n1',
    {
      ...noNotes,
      reported: new Map([
        ['one', said],
        ['two', said],
      ]),
    },
    1,
  );
  desk.unsaid('n1', 'one');
  assert.deepEqual([...desk.of('n1').notes.reported.keys()], ['two']);
});
