import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { KindAdapter, MaintenanceRequest } from '@drydock/core/request';
import { type Report, statusPathOf } from '@drydock/core/request';
import { at } from '@drydock/core/testing';
import { kubevirt, kubevirtAlpha, kubevirtAlphaOfOurs } from './node-maintenance.ts';

const beta = kubevirt('operators');
const alpha = kubevirtAlpha(kubevirtAlphaOfOurs);

function raw(metadata: object, spec?: object): unknown {
  return {
    metadata: {
      name: 'nm',
      uid: 'u',
      resourceVersion: '7',
      creationTimestamp: '2026-11-21T08:00:00Z',
      ...metadata,
    },
    ...(spec && { spec }),
  };
}

function read(adapter: KindAdapter, metadata: object, spec?: object): MaintenanceRequest {
  const request = adapter.read(raw(metadata, spec));
  assert.ok(typeof request !== 'string');
  return request;
}

const full: Report = {
  state: 'Draining',
  held: true,
  leaseErrors: 2,
  waiting: [{ namespace: 'shop', name: 'a' }],
  blockers: [],
  pods: { total: 5, toEvict: 4, gone: 3, waiting: 1 },
};

function status(adapter: KindAdapter, report: Partial<Report> = {}): JsonObject {
  return JSON.parse(
    JSON.stringify(
      adapter.status({ ...full, ...report }, read(adapter, {}, { nodeName: 'n1' }), at(100)),
    ),
  ) as JsonObject;
}

test('each generation has the status fields that its operator knew, and no others', () => {
  assert.deepEqual(status(beta), {
    phase: 'Running',
    pendingPods: ['a'],
    totalpods: 5,
    evictionPods: 4,
    errorOnLeaseCount: 2,
  });
  assert.deepEqual(status(alpha), {
    phase: 'Running',
    pendingPods: ['a'],
    totalpods: 5,
    evictionPods: 4,
  });
});

test('a failure is called so where there is a word for it', () => {
  const failed: Partial<Report> = {
    state: 'Failed',
    failure: 'NodeNotFound',
    problem: { reason: 'NodeNotFound', message: 'nodes "n1" not found' },
  };
  assert.deepEqual(
    [status(beta, failed)['phase'], status(alpha, failed)['phase']],
    ['Failed', 'Running'],
  );
  assert.equal(status(alpha, failed)['lastError'], 'nodes "n1" not found');
});

test('the node is named by spec.nodeName; in the oldest kind, the name of the object stands in for it', () => {
  assert.equal(read(beta, {}, { nodeName: 'n1' }).nodeName, 'n1');
  assert.equal(typeof beta.read(raw({}, {})), 'string');
  assert.equal(read(alpha, {}, { nodeName: 'n1' }).nodeName, 'n1');
  assert.equal(read(alpha, { name: 'n2' }, { reason: 'disk' }).nodeName, 'n2');
  assert.equal(
    read(alpha, { name: 'n3' }).nodeName,
    'n3',
    'an object without a spec names a node too',
  );
});

test('a namespaced object is written to where it is; a CRD without status subresource takes the status with the object', () => {
  const request = read(alpha, { namespace: 'ops', name: 'n1' });
  assert.equal(
    statusPathOf(request),
    '/apis/kubevirt.io/v1alpha1/namespaces/ops/nodemaintenances/n1/status',
  );
  const found = kubevirtAlpha({ version: 'v1alpha3', statusSubresource: false });
  assert.equal(
    statusPathOf(read(found, { namespace: 'ops', name: 'n1' })),
    '/apis/kubevirt.io/v1alpha3/namespaces/ops/nodemaintenances/n1',
  );
});

test('taints, leases and finalizers are those of the generation', () => {
  const taints = [
    { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
    { key: 'kubevirt.io/drain', effect: 'NoSchedule' },
  ];
  for (const adapter of [beta, alpha])
    assert.deepEqual(adapter.marks('Drain'), { unschedulable: true, taints, labels: {} });
  assert.deepEqual(beta.lease('Node-A'), {
    namespace: 'operators',
    name: 'Node-A',
    holder: 'node-maintenance',
    released: 'blanked',
  });
  assert.equal(alpha.lease('n1'), undefined);
  assert.deepEqual(
    [beta.finalizer, alpha.finalizer],
    ['foregroundDeleteNodeMaintenance', 'foregroundDeleteNodeMaintenance'],
  );
  assert.equal(
    kubevirtAlpha({ version: 'v1alpha3', statusSubresource: false }).finalizer,
    undefined,
    'nobody but us would take it off',
  );
});
