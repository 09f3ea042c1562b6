import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at, makeNode } from '../../testing/make.ts';
import {
  isReady,
  type MachineRequestOverrides,
  type MachineSnapshotOverrides,
  makeChild,
  makeEvent,
  makeMachine,
  makeMachineRequest,
  makeMachineSnapshot,
  makeNotice,
  makeSet,
} from '../../testing/make-machine.ts';
import { decideMachine } from '../decide.ts';
import type { MachineEvent } from '../event.ts';
import type { ConcurrentMaintenance } from '../snapshot.ts';

const now = at(0);
const reboot = makeEvent({ id: 'e1', kind: 'reboot', source: 'agent/n1' });
function begun(over: MachineRequestOverrides = {}) {
  return makeMachineRequest({
    events: [reboot],
    ...over,
    history: { phase: 'Drained', startedAt: at(-600), strategy: 'Drain', ...over.history },
  });
}
function decided(seen: MachineSnapshotOverrides, moment = now) {
  return decideMachine(
    makeMachineSnapshot({ request: begun(), child: makeChild('Drained'), ...seen }),
    moment,
  );
}

describe('the node stays out through the cloud’s own work', () => {
  test('and what it waits for is said', () => {
    const said = (...events: readonly MachineEvent[]) =>
      decided({ request: begun({ events }) }).message;
    assert.equal(
      said(reboot),
      'The node is drained and held until the cloud reports the end of reboot (scheduled)',
    );
    assert.equal(
      said({ ...reboot, code: 'system-reboot', state: 'Active' }),
      'The node is drained and held until the cloud reports the end of system-reboot (active)',
    );
    assert.equal(said(), 'The node is drained and held until this object is deleted');
  });

  const other = (over: Partial<ConcurrentMaintenance> = {}): ConcurrentMaintenance => ({
    key: 'drydock-system/mm-m2',
    active: true,
    responds: true,
    controlPlane: false,
    undrained: new Set(['e1']),
    ...over,
  });
  const told = (seen: MachineSnapshotOverrides) =>
    decided(seen).writes?.map(({ description: what, body }) => [
      what,
      (body['metadata'] as { annotations: object }).annotations,
    ]) ?? [];
  const word = 'report to the agent of the node that the node is drained';

  test('its agent is told once what the node has been drained for', () => {
    assert.deepEqual(told({ notice: makeNotice() }), [[word, { 'drydock.dev/drained-for': 'e1' }]]);
    assert.deepEqual(told({ notice: makeNotice({ drainedFor: ['e0', 'e1'] }) }), []);
    assert.deepEqual(told({}), [], 'there is none');
    const two = { request: begun({ events: [reboot, { ...reboot, id: 'e2' }] }) };
    assert.deepEqual(told({ ...two, notice: makeNotice({ drainedFor: ['e1'] }) }), [
      [word, { 'drydock.dev/drained-for': 'e1,e2' }],
    ]);
    assert.deepEqual(
      told({ request: begun({ events: [{ ...reboot, source: 'aws' }] }), notice: makeNotice() }),
      [],
      'no agent has told it',
    );
  });

  test('one word is enough for all machines of an event, so it is said when all of them are drained', () => {
    const notice = makeNotice();
    assert.deepEqual(told({ notice, others: [other()] }), []);
    assert.deepEqual(
      told({ notice, others: [other(), other({ key: 'x', undrained: new Set() })] }),
      [],
    );
    assert.equal(told({ notice, others: [other({ undrained: new Set(['e9']) })] }).length, 1);
    assert.equal(
      told({ notice, others: [other({ key: 'drydock-system/mm-m1' })] }).length,
      1,
      'it is one of them itself',
    );
  });
});

describe('when the event is over', () => {
  const over = (
    kind: MachineEvent['kind'] = 'reboot',
    history: MachineRequestOverrides['history'] = {},
  ) =>
    begun({
      events: [
        { ...reboot, kind, state: 'Completed' },
        { ...reboot, id: 'e2', state: 'Cancelled' },
      ],
      history: { bootId: 'b1', drainedAt: at(-300), eventsEndedAt: at(-20), ...history },
    });
  const node = (bootId?: string, ...conditions: readonly (typeof isReady)[]) =>
    makeNode({
      conditions: conditions.length > 0 ? conditions : [isReady],
      ...(bootId !== undefined && { bootId }),
    });
  const phase = (seen: MachineSnapshotOverrides, moment = now) => {
    const { phase, reason, requeueAt } = decided(seen, moment);
    return [phase, reason, requeueAt?.toString()];
  };

  test('a node that has not been seen to start anew gets a minute for that', () => {
    assert.deepEqual(phase({ request: over(), node: node('b1') }), [
      'Drained',
      'Settling',
      at(40).toString(),
    ]);
    assert.deepEqual(phase({ request: over('redeploy'), node: node('b1') }).slice(0, 2), [
      'Drained',
      'Settling',
    ]);
    assert.deepEqual(phase({ request: over(), node: node('b1') }, at(40)).slice(0, 2), [
      'Releasing',
      'Ending',
    ]);
    assert.deepEqual(phase({ request: over(), node: node('b2') }).slice(0, 2), [
      'Releasing',
      'Ending',
    ]);
    assert.deepEqual(
      phase({ request: over('maintenance'), node: node('b1') }).slice(0, 2),
      ['Releasing', 'Ending'],
      'nothing starts anew there',
    );
    assert.deepEqual(
      phase({ request: over('reboot', { bootId: undefined as never }), node: node() }).slice(0, 2),
      ['Releasing', 'Ending'],
      'nobody knows',
    );
  });

  test('a node that is not fit is kept, and why is said', () => {
    const said = (...conditions: readonly (typeof isReady)[]) =>
      decided({ request: { ...over(), gates: ['Disk'] }, node: node('b2', ...conditions) }).message;
    assert.equal(
      said({ ...isReady, status: 'False', message: 'no network' }),
      'The event is over; node n1 is not Ready: no network',
    );
    assert.equal(said({ ...isReady, status: 'False' }), 'The event is over; node n1 is not Ready');
    assert.equal(said({ ...isReady, type: 'Other' }), 'The event is over; node n1 is not Ready');
    assert.equal(said(isReady), 'The event is over; condition Disk of node n1 is not True');
  });

  test('the end is said: back, started anew, gone, or replaced', () => {
    const said = (seen: MachineSnapshotOverrides) => decided({ child: undefined, ...seen }).message;
    assert.equal(
      said({ request: over(), node: node('b2') }),
      'The event is over and the node is back, rebooted',
    );
    assert.equal(
      said({ request: over('maintenance'), node: node('b1') }),
      'The event is over and the node is back',
    );
    assert.equal(
      said({ request: over('maintenance'), node: node() }),
      'The event is over and the node is back',
    );
    const { bootId: _, ...unknown } = over().history;
    assert.equal(
      said({ request: { ...over(), history: unknown }, node: node('b2') }),
      'The event is over and the node is back',
    );
    assert.equal(said({ request: over(), node: undefined }), 'The node is gone');
    const replacement = {
      set: makeSet(),
      members: [makeMachine({ name: 'm9' })],
      ready: 3,
      unready: [],
    };
    assert.equal(
      said({
        request: begun({ deletionIssued: true, history: { strategy: 'Replace' } }),
        machine: undefined,
        node: undefined,
        replacement,
      }),
      'Machine m1 has been replaced',
    );
  });
});
