import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at } from '../testing/make.ts';
import { byKey, isTerminating, readPod } from './pod.ts';

const metadata = { name: 'a', namespace: 'shop', uid: 'u', resourceVersion: '7' };
function read(more: object, meta: object = {}) {
  return readPod({ metadata: { ...metadata, ...meta }, ...more });
}

test('what a pod does not say counts as the API server has it', () => {
  assert.partialDeepStrictEqual(
    readPod({ metadata: { name: 'a', uid: 'u', resourceVersion: '7' } }),
    {
      key: 'default/a',
      namespace: 'default',
      nodeName: '',
      labels: {},
      phase: 'Pending',
      ready: false,
      priority: 0,
      mirror: false,
      localData: false,
      claims: [],
      deletionGraceSeconds: 0,
      graceSeconds: 30,
      finalizers: [],
    },
  );
  const plain = read({});
  for (const key of ['owner', 'deletionTimestamp', 'readyUnknown'])
    assert.equal(key in plain, false, key);
});

test('what it says is kept', () => {
  const pod = read(
    {
      spec: { nodeName: 'n1', priority: 5, terminationGracePeriodSeconds: 90 },
      status: {
        phase: 'Running',
        conditions: [
          { type: 'PodScheduled', status: 'False' },
          { type: 'Ready', status: 'True' },
        ],
      },
    },
    {
      labels: { app: 'web' },
      annotations: { 'kubernetes.io/config.mirror': 'x' },
      creationTimestamp: '2026-11-21T08:00:00Z',
      deletionTimestamp: '2026-11-21T08:01:00Z',
      deletionGracePeriodSeconds: 60,
      finalizers: ['x/y'],
    },
  );
  assert.partialDeepStrictEqual(pod, {
    key: 'shop/a',
    nodeName: 'n1',
    priority: 5,
    graceSeconds: 90,
    phase: 'Running',
    ready: true,
    labels: { app: 'web' },
    mirror: true,
    deletionGraceSeconds: 60,
    finalizers: ['x/y'],
  });
  assert.equal(pod.createdAt.toString(), at(0).toString());
  assert.equal(pod.deletionTimestamp?.toString(), at(60).toString());
});

test('ready, not ready, and unknown are three', () => {
  const readiness = (status: string) => {
    const { ready, readyUnknown } = read({ status: { conditions: [{ type: 'Ready', status }] } });
    return [ready, readyUnknown];
  };
  assert.deepEqual(['True', 'False', 'Unknown'].map(readiness), [
    [true, undefined],
    [false, undefined],
    [false, true],
  ]);
});

test('its owner is the one that controls it', () => {
  const reference = (name: string, controller?: boolean) => ({
    kind: 'ReplicaSet',
    name,
    uid: name,
    apiVersion: 'apps/v1',
    ...(controller !== undefined && { controller }),
  });
  const owner = (...ownerReferences: readonly object[]) => read({}, { ownerReferences }).owner;
  assert.deepEqual(owner(reference('x'), reference('y', false), reference('z', true)), {
    kind: 'ReplicaSet',
    name: 'z',
    uid: 'z',
    apiVersion: 'apps/v1',
  });
  assert.equal(owner(reference('x'), reference('y', false)), undefined);
});

test('local data is an emptyDir, beside whatever else; claims are named, those of ephemeral volumes after pod and volume', () => {
  const volumes = (...volumes: readonly object[]) => {
    const { localData, claims } = read({ spec: { volumes } });
    return { localData, claims };
  };
  const [config, empty, claim, ephemeral] = [
    { name: 'c', configMap: {} },
    { name: 'e', emptyDir: {} },
    { name: 'd', persistentVolumeClaim: { claimName: 'disk' } },
    { name: 'scratch', ephemeral: {} },
  ];
  assert.deepEqual(volumes(config, empty), { localData: true, claims: [] });
  assert.deepEqual(volumes(config), { localData: false, claims: [] });
  assert.deepEqual(volumes({ name: 'e', emptyDir: null }), { localData: false, claims: [] });
  assert.deepEqual(volumes(config, claim, ephemeral), {
    localData: false,
    claims: ['disk', 'a-scratch'],
  });
});

test('a pod whose end is further away than a time can be written is on its way out all the same', () => {
  assert.equal(isTerminating(read({}, { deletionTimestamp: '+010000-01-01T00:00:00Z' })), true);
  assert.equal(isTerminating(read({})), false);
});

test('people read pods in the order of their keys', () => {
  const [one, other] = [read({}), read({}, { name: 'b' })];
  assert.deepEqual([byKey(one, other), byKey(other, one), byKey(one, one)], [-1, 1, 0]);
});

test('an owner that is not marked as the controller is known, and makes no controller', () => {
  const owner = { kind: 'Kafka', name: 'main', uid: 'k', apiVersion: 'x/v1' };
  const pod = read({}, { ownerReferences: [owner] });
  assert.deepEqual([pod.owner, pod.otherOwner], [undefined, 'Kafka main']);
  const managed = read(
    {},
    { ownerReferences: [owner, { ...owner, name: 'set', controller: true }] },
  );
  assert.deepEqual([managed.owner?.name, managed.otherOwner], ['set', undefined]);
});

test('what the scheduler says is kept of a pod that is on no node because none takes it', () => {
  const refused = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: '0/3 nodes are available',
  };
  const said = (condition: object, spec = {}) =>
    read({ spec, status: { conditions: [condition] } }).unschedulable;
  assert.equal(said(refused), '0/3 nodes are available');
  assert.equal(said(refused, { nodeName: 'n1' }), undefined);
  assert.equal(said({ ...refused, status: 'True' }), undefined);
  assert.equal(said({ ...refused, reason: 'SchedulingGated' }), undefined);
  assert.equal(said({ ...refused, message: 'x'.repeat(5000) })?.length, 1000);
});
