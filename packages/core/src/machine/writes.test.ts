import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { levelWrite } from '../maintenance/decide.ts';
import { at } from '../testing/make.ts';
import {
  makeChild,
  makeEvent,
  makeMachine,
  makeMachineRequest,
  makeMachineSnapshot,
  makeSet,
} from '../testing/make-machine.ts';
import type { MachineEvent } from './event.ts';
import { deleteMarks, hookName, hookOwner, preDrainPrefix } from './machine.ts';
import {
  childDrainWrite,
  childName,
  createChildWrite,
  deleteMachineWrite,
  hookWrite,
  markWrite,
  reasonOf,
  scaleWrite,
} from './writes.ts';

const ours = { name: hookName, owner: hookOwner };
const theirs = { name: 'other', owner: 'x' };

describe('the hook that keeps a machine whole', () => {
  const openshift = (wanted: boolean, ...preDrainHooks: readonly (typeof ours)[]) =>
    hookWrite(makeMachine({ preDrainHooks }), wanted).body['spec'];
  test('of OpenShift leaves those of others as they are', () => {
    assert.deepEqual(openshift(true), { lifecycleHooks: { preDrain: [ours] } });
    assert.deepEqual(openshift(true, theirs, ours), {
      lifecycleHooks: { preDrain: [theirs, ours] },
    });
    assert.deepEqual(openshift(false, theirs, ours), { lifecycleHooks: { preDrain: [theirs] } });
    assert.deepEqual(openshift(false, ours), { lifecycleHooks: { preDrain: null } });
  });

  test('of Cluster API is an annotation, and takes the mark along', () => {
    const capi = makeMachine({ api: 'capi' });
    const annotations = (...args: [wanted: boolean, mark?: string]) =>
      (hookWrite(capi, ...args).body['metadata'] as { annotations: object }).annotations;
    const hook = `${preDrainPrefix}${hookName}`;
    assert.deepEqual(annotations(true, 'us'), { [hook]: hookOwner, [deleteMarks.capi]: 'us' });
    assert.deepEqual(annotations(true), { [hook]: hookOwner });
    assert.deepEqual(annotations(false, 'us'), { [hook]: null });
  });
});

test('a machine is put first in line, and taken out of it, as it was seen', () => {
  assert.deepEqual(markWrite(makeMachine(), 'us').body, {
    metadata: { annotations: { [deleteMarks.openshift]: 'us' }, resourceVersion: '1' },
  });
  assert.match(markWrite(makeMachine(), 'us').description, /next to be deleted/);
  assert.match(markWrite(makeMachine(), null).description, /remove the deletion mark/);
});

test('a machine more or less and the record of it are one write; there are never fewer than none', () => {
  const scaled = (replicas: number, by: 1 | -1) =>
    scaleWrite(makeSet({ replicas }), makeMachineRequest(), by);
  assert.deepEqual(scaled(3, 1).body, {
    metadata: {
      annotations: { 'surge.drydock.dev/uid-mm': 'drydock-system/mm-m1' },
      resourceVersion: '1',
    },
    spec: { replicas: 4 },
  });
  assert.deepEqual(scaled(3, -1).body, {
    metadata: { annotations: { 'surge.drydock.dev/uid-mm': null }, resourceVersion: '1' },
    spec: { replicas: 2 },
  });
  assert.deepEqual(scaled(0, -1).body['spec'], { replicas: 0 });
  assert.deepEqual(
    [scaled(3, 1).description, scaled(3, -1).description],
    ['add a machine', 'restore the replica count'],
  );
});

test('what becomes of a deleted machine, and how far a Maintenance is to go, is said', () => {
  const said = (api: 'openshift' | 'capi') =>
    deleteMachineWrite(makeMachine({ api }), makeMachineRequest()).events[0]?.message;
  assert.match(said('openshift') ?? '', /its set replaces it$/);
  assert.match(said('capi') ?? '', /its controller replaces it$/);
  assert.deepEqual(
    [
      levelWrite(makeChild('Draining'), 'Cordon').description,
      levelWrite(makeChild('Draining'), 'Drain').description,
    ],
    ['pause the drain', 'continue the drain'],
  );
});

describe('what the events are, in a sentence', () => {
  const said = (...events: readonly MachineEvent[]) => reasonOf(makeMachineRequest({ events }));
  const { deadline: _, ...timeless } = makeEvent();
  test('the first that is pending, when, and how many more', () => {
    assert.equal(said(), 'Machine m1 is to be replaced');
    assert.equal(said(timeless), 'aws announces retirement');
    assert.equal(
      said({ ...timeless, notBefore: at(0) }),
      'aws announces retirement for 2026-11-21T08:00:00Z',
    );
    assert.equal(
      said(makeEvent({ code: 'instance-stop', notBefore: at(0), deadline: at(60) })),
      'aws announces instance-stop for 2026-11-21T08:01:00Z',
    );
    assert.equal(said({ ...timeless, description: 'broken' }), 'aws announces retirement: broken');
    assert.equal(said({ ...timeless, description: '' }), 'aws announces retirement');
    assert.equal(
      said({ ...timeless, state: 'Completed', kind: 'reboot' }, timeless),
      'aws announces retirement',
    );
    assert.equal(said(timeless, timeless, timeless), 'aws announces retirement and 2 more');
    assert.equal(
      said({ ...timeless, state: 'Completed', kind: 'reboot' }),
      'aws announces reboot',
      'nothing is pending any more',
    );
  });
});

describe('the Maintenance that drains the node', () => {
  test('has a name of 63 characters at most, with the whole uid', () => {
    const uid = '0d3f5a52-7f0c-4d0e-9a5e-0f6a5f1c2b3d';
    assert.equal(childName({ name: 'mm-m1', uid }), `mm-m1-${uid}`);
    assert.equal(childName({ name: 'm'.repeat(26), uid }), `${'m'.repeat(26)}-${uid}`);
    assert.equal(childName({ name: 'm'.repeat(99), uid }), `${'m'.repeat(26)}-${uid}`);
    assert.equal(childName({ name: `${'m'.repeat(24)}.-tail`, uid }), `${'m'.repeat(24)}-${uid}`);
  });

  test('is put back where its drain differs: only that is written', () => {
    const written = (drain?: JsonObject) => {
      const child = makeChild(
        'Draining',
        drain && { part: { of: 'drydock-system/mm-m1' }, storedDrain: drain },
      );
      return (
        childDrainWrite(child, makeMachineRequest({ drain: { force: false } })).body[
          'spec'
        ] as JsonObject
      )['drain'];
    };
    assert.deepEqual(written({ deleteEmptyDirData: true, force: true, timeoutSeconds: 5 }), {
      force: false,
      timeoutSeconds: null,
    });
    assert.deepEqual(written({ deleteEmptyDirData: true, force: false }), {});
    assert.deepEqual(written(), { deleteEmptyDirData: true, force: false });
  });

  const drain = (events: readonly MachineEvent[], own: object = {}) => {
    const { body } = createChildWrite(
      makeMachineSnapshot({ request: makeMachineRequest({ events, drain: { ...own } }) }),
      'n1',
      at(0),
    );
    return (body['spec'] as { drain: Record<string, unknown> }).drain;
  };
  test('takes local data and pods without a controller along, unless the request says otherwise', () => {
    assert.deepEqual(drain([makeEvent()]), { deleteEmptyDirData: true, force: true });
    assert.deepEqual(drain([makeEvent()], { force: false }), {
      deleteEmptyDirData: true,
      force: false,
    });
  });

  test('gives no pod longer than the cloud gives the machine', () => {
    const grace = (over: Partial<MachineEvent>) =>
      drain([makeEvent({ kind: 'retirement', deadline: at(5) }), makeEvent({ id: 'e2', ...over })])[
        'maxGracePeriodSeconds'
      ];
    assert.equal(grace({ kind: 'preemption', deadline: at(100) }), 90);
    assert.equal(grace({ kind: 'termination', deadline: at(30.5) }), 20);
    assert.equal(grace({ kind: 'preemption', deadline: at(5) }), 1, 'at least a second');
    assert.equal(grace({ kind: 'preemption', deadline: at(100), state: 'Cancelled' }), undefined);
    assert.equal(grace({ kind: 'reboot', deadline: at(100) }), undefined);
  });
});
