import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptyMemo } from '@drydock/core/maintenance';
import { at } from '@drydock/core/testing';
import { NodeStates } from './node-states.ts';

test('a node that nobody has looked at has a blank sheet', () => {
  assert.deepEqual(new NodeStates().of('n1'), { notes: emptyMemo, remaining: 0, failures: 0 });
});

test('pauses double from failure to failure up to a limit', () => {
  const waits = (count: number): readonly number[] => {
    const nodeStates = new NodeStates();
    return Array.from({ length: count }, () => nodeStates.failed('n1'));
  };
  assert.deepEqual(waits(9), [0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5]);
  assert.equal(waits(2000).at(-1), 5);
});

test('one node does not slow down another', () => {
  const nodeStates = new NodeStates();
  nodeStates.failed('n1');
  assert.equal(nodeStates.failed('n2'), 0.02);
});

test('a refusal is remembered until a write succeeds, and the notes survive both', () => {
  const nodeStates = new NodeStates();
  const notes = { ...emptyMemo, leaseMissedAt: at(1) };
  nodeStates.note('n1', notes, 4);
  nodeStates.refused('n1', 'forbidden (HTTP 403)');
  assert.deepEqual(nodeStates.of('n1').trouble, {
    reason: 'WriteRefused',
    message: 'cannot write: forbidden (HTTP 403)',
  });
  nodeStates.failed('n1');
  nodeStates.note('n1', notes, 3);
  assert.match(nodeStates.of('n1').trouble?.message ?? '', /forbidden/);
  nodeStates.succeeded('n1');
  assert.deepEqual(nodeStates.of('n1'), { notes, remaining: 3, failures: 0 });
  assert.equal(nodeStates.failed('n1'), 0.02, 'the next failure is a first one');
});

test('success on a node without a sheet does not make one', () => {
  const nodeStates = new NodeStates();
  nodeStates.succeeded('n1');
  nodeStates.note(
    'n2',
    { ...emptyMemo, blockedSince: new Map([['Terminating shop/a ', at(0)]]) },
    1,
  );
  nodeStates.forget('n2');
  assert.deepEqual(nodeStates.of('n2').remaining, 0);
  assert.deepEqual([...nodeStates.blockers()], []);
});

test('blockers are counted by reason over all nodes', () => {
  const nodeStates = new NodeStates();
  const since = (...ids: readonly string[]): ReadonlyMap<string, Temporal.Instant> =>
    new Map(ids.map(id => [id, at(0)]));
  nodeStates.note(
    'n1',
    { ...emptyMemo, blockedSince: since('DisruptionBudget shop/a ', 'Terminating shop/b ') },
    2,
  );
  nodeStates.note(
    'n2',
    { ...emptyMemo, blockedSince: since('DisruptionBudget shop/c ', 'VolumeAttached  pv-1') },
    1,
  );
  assert.deepEqual(Object.fromEntries(nodeStates.blockers()), {
    DisruptionBudget: 2,
    Terminating: 1,
    VolumeAttached: 1,
  });
});

test('a report that was not stored counts as not said', () => {
  const nodeStates = new NodeStates();
  const said = { at: at(1), gist: 'Draining', stuck: new Set<string>() };
  nodeStates.note(
    'n1',
    {
      ...emptyMemo,
      reported: new Map([
        ['one', said],
        ['two', said],
      ]),
    },
    1,
  );
  nodeStates.unsaid('n1', 'one');
  assert.deepEqual([...nodeStates.of('n1').notes.reported.keys()], ['two']);
});
