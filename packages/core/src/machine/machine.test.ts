import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { at } from '../testing/make.ts';
import {
  collectionOf,
  deleteMarks,
  hookName,
  hookOwner,
  type MachineKind,
  preDrainPrefix,
  readMachine,
  readMachineSet,
  surgePrefix,
} from './machine.ts';

const metadata = { name: 'm 1', namespace: 'machines', uid: 'u', resourceVersion: '7' };
const kinds = {
  openshift: {
    api: 'openshift',
    apiVersion: 'machine.openshift.io/v1beta1',
    kind: 'Machine',
    plural: 'machines',
  },
  capi: {
    api: 'capi',
    apiVersion: 'cluster.x-k8s.io/v1beta2',
    kind: 'Machine',
    plural: 'machines',
  },
} as const satisfies Record<string, MachineKind>;
function read(api: keyof typeof kinds, more: object = {}, meta: object = {}) {
  return readMachine({ metadata: { ...metadata, ...meta }, ...more }, kinds[api]);
}

describe('a Machine', () => {
  test('that says nothing', () => {
    assert.deepEqual(read('openshift', {}, { creationTimestamp: '2026-11-21T08:00:00Z' }), {
      key: 'openshift/machines/m 1',
      api: 'openshift',
      apiVersion: 'machine.openshift.io/v1beta1',
      kind: 'Machine',
      namespace: 'machines',
      name: 'm 1',
      uid: 'u',
      resourceVersion: '7',
      path: '/apis/machine.openshift.io/v1beta1/namespaces/machines/machines/m%201',
      labels: {},
      createdAt: at(0),
      deleting: false,
      controlPlane: false,
      preDrainHooks: [],
      available: false,
    });
    assert.equal(read('capi').createdAt.epochMilliseconds, 0);
    assert.equal(read('capi', {}, { namespace: undefined }).key, 'capi//m 1');
    assert.equal(collectionOf(kinds.capi), '/apis/cluster.x-k8s.io/v1beta2/machines');
  });

  test('keeps what it says; empty words are none', () => {
    const more = {
      spec: { providerID: 'aws:///a/i-1', failureDomain: 'a' },
      status: { phase: 'Running', nodeRef: { name: 'n1' } },
    };
    assert.partialDeepStrictEqual(
      read('capi', more, { deletionTimestamp: '2026-11-21T08:00:00Z' }),
      {
        providerId: 'aws:///a/i-1',
        zone: 'a',
        phase: 'Running',
        nodeName: 'n1',
        deleting: true,
      },
    );
    const empty = read(
      'capi',
      { spec: { providerID: '', failureDomain: '' }, status: { phase: '', nodeRef: { name: 5 } } },
      { labels: { 'machine.openshift.io/zone': '' } },
    );
    for (const key of [
      'providerId',
      'zone',
      'phase',
      'nodeName',
      'statusMessage',
      'deleteMark',
      'owner',
    ])
      assert.equal(key in empty, false, key);
  });

  test('has its zone from the spec, else from the label', () => {
    const labels = { 'machine.openshift.io/zone': 'b' };
    assert.equal(read('openshift', {}, { labels }).zone, 'b');
    assert.equal(read('openshift', { spec: { failureDomain: 'a' } }, { labels }).zone, 'a');
  });

  test('is owned by what controls it', () => {
    const owner = (name: string, controller?: boolean) => ({
      kind: 'MachineSet',
      name,
      uid: name,
      ...(controller !== undefined && { controller }),
    });
    assert.deepEqual(read('capi', {}, { ownerReferences: [owner('x'), owner('y', true)] }).owner, {
      kind: 'MachineSet',
      name: 'y',
      uid: 'y',
    });
    assert.equal(read('capi', {}, { ownerReferences: [owner('x', false)] }).owner, undefined);
  });

  test('is of the control plane by the label of its API', () => {
    const [capi, openshift] = [
      { 'cluster.x-k8s.io/control-plane': '' },
      { 'machine.openshift.io/cluster-api-machine-role': 'master' },
    ];
    const is = (api: keyof typeof kinds, labels: object) => read(api, {}, { labels }).controlPlane;
    assert.deepEqual(
      [is('capi', capi), is('capi', openshift), is('openshift', openshift), is('openshift', capi)],
      [true, false, true, false],
    );
    assert.equal(
      is('openshift', { 'machine.openshift.io/cluster-api-machine-role': 'worker' }),
      false,
    );
  });

  test('has hooks in the annotations of Cluster API, in the spec of OpenShift', () => {
    const hooks = [
      { name: hookName, owner: hookOwner },
      { name: 'other', owner: '' },
    ];
    const annotations = {
      [`${preDrainPrefix}${hookName}`]: hookOwner,
      [`${preDrainPrefix}other`]: '',
      'x/y': 'z',
    };
    const spec = {
      lifecycleHooks: {
        preDrain: [...hooks.slice(0, 1), { name: 'other' }, { owner: 'nameless' }, 'nonsense'],
      },
    };
    assert.deepEqual(read('capi', { spec }, { annotations }).preDrainHooks, hooks);
    assert.deepEqual(read('openshift', { spec }, { annotations }).preDrainHooks, hooks);
    assert.deepEqual(
      read('openshift', { spec: { lifecycleHooks: { preDrain: 'x' } } }).preDrainHooks,
      [],
    );
    assert.deepEqual(
      [read('capi', { spec }), read('openshift', {}, { annotations })].flatMap(
        ({ preDrainHooks }) => preDrainHooks,
      ),
      [],
    );
  });

  test('has the mark of its own API', () => {
    assert.equal(
      read('capi', {}, { annotations: { [deleteMarks.capi]: 'yes' } }).deleteMark,
      'yes',
    );
    assert.equal(
      read('capi', {}, { annotations: { [deleteMarks.openshift]: 'yes' } }).deleteMark,
      undefined,
    );
  });

  test('is available when its API says so', () => {
    const is = (type: string, status: string) =>
      read('capi', {
        status: {
          conditions: [
            { type: 'Ready', status: 'True' },
            { type, status },
          ],
        },
      }).available;
    assert.deepEqual(
      [is('Available', 'True'), is('Available', 'False'), is('Other', 'True')],
      [true, false, false],
    );
  });

  test('says what keeps its deletion', () => {
    const said = (condition: object, status: object = {}) =>
      read('capi', {
        status: {
          ...status,
          conditions: [
            { type: 'Ready', status: 'False', message: 'no' },
            { message: 'm', ...condition },
          ],
        },
      }).statusMessage;
    assert.equal(said({ type: 'Deleting', status: 'True', reason: 'Draining' }), 'm');
    assert.equal(said({ type: 'Deleting', status: 'True', reason: 'NotDeleting' }), undefined);
    assert.equal(said({ type: 'Deleting', status: 'False', reason: 'x' }), undefined);
    assert.equal(said({ type: 'Drainable', status: 'False' }), 'm');
    assert.equal(said({ type: 'Terminable', status: 'False' }), 'm');
    assert.equal(said({ type: 'Drainable', status: 'True' }), undefined);
    assert.equal(said({ type: 'Other', status: 'x' }, { errorMessage: 'broken' }), 'broken');
  });
});

describe('what makes machines', () => {
  const set = (kind: MachineKind['kind'], spec: object = {}, meta: object = {}) =>
    readMachineSet(
      { metadata: { ...metadata, ...meta }, spec },
      { api: 'capi', apiVersion: 'cluster.x-k8s.io/v1beta2', kind, plural: 'sets' },
    );

  test('makes one where it does not say how many', () => {
    assert.equal(set('MachineSet').replicas, 1);
    assert.equal(set('MachineSet', { replicas: 0 }).replicas, 0);
    assert.equal(set('MachineSet', { replicas: 'x' }).replicas, 1);
    assert.equal(set('MachineSet').key, 'capi/MachineSet/machines/m 1');
    assert.equal(set('MachineSet', {}, { namespace: undefined }).key, 'capi/MachineSet//m 1');
    assert.deepEqual(
      [set('MachineSet').deleting, set('MachineSet', {}, { deletionTimestamp: 'x' }).deleting],
      [false, true],
    );
  });

  test('replaces machines of a control plane where it is made for that, and at work', () => {
    assert.equal(set('KubeadmControlPlane').controlPlane, true);
    assert.equal(set('ControlPlaneMachineSet', { state: 'Active' }).controlPlane, true);
    assert.equal(set('ControlPlaneMachineSet', { state: 'Inactive' }).controlPlane, false);
    assert.equal(set('MachineDeployment', { state: 'Active' }).controlPlane, false);
  });

  test('is owned by a topology where its label says so; has records of the machines too many', () => {
    assert.equal(
      set('MachineDeployment', {}, { labels: { 'topology.cluster.x-k8s.io/owned': '' } })
        .topologyOwned,
      true,
    );
    assert.equal(set('MachineDeployment').topologyOwned, false);
    assert.deepEqual(
      [
        ...set('MachineSet', {}, { annotations: { [`${surgePrefix}u1`]: 'ns/mm', 'x/y': 'z' } })
          .surges,
      ],
      [['u1', 'ns/mm']],
    );
    assert.equal(set('MachineSet').surges.size, 0);
  });
});
