import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  at,
  makeEvent,
  makeMachine,
  makeMachineRequest,
  makeMachineSnapshot,
} from '@drydock/core/testing';
import { machineMaintenanceStatus, readMachineMaintenance } from './machine-maintenance.ts';

const events = [{ provider: 'aws', id: 'e1', kind: 'reboot', state: 'Cancelled', source: 'aws' }];

/** Whether it stands for itself, by its events and its annotation. */
function independent(spec: object, annotations: Readonly<Record<string, string>> = {}): unknown {
  const metadata = {
    name: 'mm-m1',
    namespace: 'drydock-system',
    uid: 'u',
    resourceVersion: '1',
    annotations,
  };
  const request = readMachineMaintenance({ metadata, spec: { machinelink: 'm1', ...spec } });
  return typeof request === 'string' ? request : request.independent;
}

test('a request that was made without an event does not depend on those that are added, and one of the replaced operator does on its own', () => {
  assert.equal(independent({}), true);
  assert.equal(independent({ events: [] }), true);
  assert.equal(independent({ events }), false);
  assert.equal(
    independent({ eventcode: 'instance-reboot', eventid: 'e1', machineid: 'i-1' }),
    false,
  );
  assert.equal(independent({ events }, { 'drydock.dev/independent-of-events': 'true' }), true);
  assert.equal(independent({ events }, { 'drydock.dev/independent-of-events': 'false' }), false);
});

test('a node that the machine gets after the beginning is noted, for when the machine is gone; the first one stays noted', () => {
  const noted = (status: object, machine: ReturnType<typeof makeMachine> | undefined): unknown =>
    machineMaintenanceStatus(
      { phase: 'Draining', reason: 'Drain', message: 'x' },
      makeMachineSnapshot({ machine, request: makeMachineRequest({ status: { ...status } }) }),
      at(0),
    )['nodeName'];
  const startTime = '2026-11-21T08:00:00Z';
  assert.equal(noted({ startTime }, makeMachine()), 'n1');
  assert.equal(noted({ startTime, nodeName: 'n9' }, makeMachine()), 'n9');
  assert.equal(noted({ startTime, nodeName: 'n9' }, undefined), 'n9');
  assert.equal(noted({}, makeMachine()), undefined, 'it has not begun');
});

test('the time at which its events were over is noted, also where it does not end with them', () => {
  const noted = (request: Parameters<typeof makeMachineRequest>[0]): unknown =>
    machineMaintenanceStatus(
      { phase: 'Scheduled', reason: 'Turn', message: 'x' },
      makeMachineSnapshot({ request: makeMachineRequest(request) }),
      at(60),
    )['eventsEndTime'];
  const over = makeEvent({ state: 'Completed' });
  const before = { status: { eventsEndTime: '2026-11-21T08:00:30Z' } };
  for (const independent of [false, true]) {
    assert.equal(noted({ independent, events: [over] }), '2026-11-21T08:01:00Z');
    assert.equal(noted({ independent, events: [over], ...before }), '2026-11-21T08:00:30Z');
    assert.equal(noted({ independent, events: [over, makeEvent({ id: 'e2' })] }), undefined);
  }
  assert.equal(noted({ events: [] }), undefined);
});
