import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AnnouncedView, MachineView } from '../../src/scene.ts';
import { announcedText, kindsOf, phaseOf, strategyOf, toneOf, windowText } from './words.ts';

const now = Date.parse('2026-01-02T12:00:00Z');

const event: AnnouncedView = {
  provider: 'aws',
  kind: 'retirement',
  state: 'Scheduled',
  at: '2026-01-05T12:00:00Z',
};

function makeMachine(over: Partial<MachineView> = {}): MachineView {
  return {
    key: 'drydock-system/mm-w1',
    machine: 'w1',
    phase: 'Draining',
    over: false,
    deleting: false,
    message: '',
    since: '2026-01-01T00:00:00Z',
    announced: [event],
    ...over,
  };
}

test('what is announced: by whom, what, when', () => {
  assert.equal(announcedText(event, now), 'aws announces: retirement in about 3 days');
  const { at: _none, ...timeless } = event;
  assert.equal(announcedText(timeless, now), 'aws announces: retirement');
  assert.equal(announcedText({ ...event, state: 'Active' }, now), 'aws announces: retirement, now');
  assert.equal(
    announcedText({ ...event, state: 'Cancelled' }, now),
    'aws announces: retirement, cancelled',
  );
});

test('several kinds are said once each; an object of somebody else says none', () => {
  assert.equal(
    kindsOf(makeMachine({ announced: [event, { ...event, kind: 'reboot' }, event] })),
    'retirement, reboot',
  );
  assert.equal(kindsOf(makeMachine({ announced: [] })), 'replacement');
});

test('how far it is, and what is done about it', () => {
  assert.equal(phaseOf(makeMachine({ phase: 'AwaitingApproval' })), 'waiting for approval');
  assert.equal(phaseOf(makeMachine({ deleting: true })), 'ending');
  assert.equal(strategyOf(makeMachine()), '');
  assert.equal(
    strategyOf(makeMachine({ strategy: 'Replace' })),
    'drain the node, then replace the machine',
  );
  assert.deepEqual(
    (['AwaitingApproval', 'Replacing', 'Scheduled'] as const).map(phase =>
      toneOf(makeMachine({ phase })),
    ),
    ['unready', 'draining', 'held'],
  );
});

test('windows: open or closed, and until when', () => {
  assert.equal(
    windowText({ key: 'w', open: true, until: '2026-01-02T14:00:00Z' }, now),
    'open, closes in about 2 h 0 min',
  );
  assert.equal(
    windowText({ key: 'w', open: false, until: '2026-01-04T12:00:00Z' }, now),
    'closed, opens in about 2 days',
  );
  assert.equal(windowText({ key: 'w', open: true }, now), 'open');
  assert.equal(windowText({ key: 'w' }, now), 'no state reported yet');
  assert.equal(windowText({ key: 'w', problem: 'no such zone' }, now), 'never open: no such zone');
});
