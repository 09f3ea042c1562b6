import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeRequest } from '../testing/make.ts';
import {
  type MaintenanceInput,
  maintenanceObject,
  nodeMaintenanceObject,
} from './maintenance-input.ts';

const { adapter } = makeRequest('one');
const drain = { force: false, deleteEmptyDirData: true };
const bare: MaintenanceInput = { node: 'n1', drain };

test('an input is an object that says what was said, and is named like its node where it has no name', () => {
  const common = { apiVersion: 'drydock.dev/v1alpha1', kind: 'Maintenance' };
  assert.deepEqual(maintenanceObject(bare), {
    ...common,
    metadata: { name: 'n1' },
    spec: { nodeName: 'n1', level: 'Drain', drain },
  });
  assert.deepEqual(
    maintenanceObject({
      ...bare,
      name: 'disk',
      level: 'Cordon',
      reason: 'a new disk',
      requester: 'ann',
    }),
    {
      ...common,
      metadata: { name: 'disk' },
      spec: { nodeName: 'n1', level: 'Cordon', reason: 'a new disk', requester: 'ann', drain },
    },
  );
});

test('of the kind without a policy, the node and the reason are said', () => {
  const common = { apiVersion: adapter.apiVersion, kind: adapter.kind };
  assert.deepEqual(nodeMaintenanceObject(adapter, bare), {
    ...common,
    metadata: { name: 'n1' },
    spec: { nodeName: 'n1' },
  });
  assert.deepEqual(
    nodeMaintenanceObject(adapter, {
      ...bare,
      name: 'disk',
      reason: 'a new disk',
      requester: 'ann',
    }),
    {
      ...common,
      metadata: { name: 'disk' },
      spec: { nodeName: 'n1', reason: 'a new disk' },
    },
  );
});
