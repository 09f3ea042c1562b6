import assert from 'node:assert/strict';
import { test } from 'node:test';
import { instanceOf } from '@drydock/core/machine';
import { regionOfInfrastructure, regionOfInstallConfig, regionOfProviderId } from './region.ts';

const regions: readonly (readonly [string | undefined, string | undefined])[] = [
  ['aws:///us-east-1a/i-0123456789abcdef0', 'us-east-1'],
  ['aws:///ap-southeast-2b/i-0123456789abcdef0', 'ap-southeast-2'],
  ['aws:///us-gov-west-1a/i-0123456789abcdef0', 'us-gov-west-1'],
  ['aws:///us-iso-east-1c/i-0123456789abcdef0', 'us-iso-east-1'],
  ['aws:///us-west-2-lax-1a/i-0123456789abcdef0', 'us-west-2'],
  ['aws:///us-east-1-wl1-bos-wlz-1/i-0123456789abcdef0', 'us-east-1'],
  ['aws:///eu-central-1/i-0123456789abcdef0', 'eu-central-1'],
  ['aws:///us-east-12b/i-1', 'us-east-12'],
  ['aws:///i-0123456789abcdef0', undefined],
  ['aws:////i-0123456789abcdef0', undefined],
  ['aws:///us-east-1a', undefined],
  ['gce://project/us-east1-b/vm', undefined],
  ['azure:///subscriptions/s/x/us-east-1a/y', undefined],
  ['us-east-1a/i-1', undefined],
  ['', undefined],
  [undefined, undefined],
];
for (const [providerId, region] of regions) {
  test(`the region of ${providerId} is ${region}`, () =>
    assert.equal(regionOfProviderId(providerId), region));
}

const set =
  'azure:///subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachineScaleSets/pool-vmss/virtualMachines';
const machines: readonly (readonly [string | undefined, string | undefined])[] = [
  ['aws:///us-east-1a/i-0123456789abcdef0', 'i-0123456789abcdef0'],
  [
    'azure:///subscriptions/s/resourceGroups/r/providers/Microsoft.Compute/virtualMachines/vm-1',
    'vm-1',
  ],
  [`${set}/0`, 'pool-vmss_0'],
  ['gce://project/us-east1-b/gke-pool-1', 'gke-pool-1'],
  ['openstack:///4d6c0f11', '4d6c0f11'],
  ['aws:///us-east-1a/', undefined],
  ['aws://', undefined],
  ['i-0123456789abcdef0', undefined],
  ['not a providerID', undefined],
  ['', undefined],
  [undefined, undefined],
];
for (const [providerId, machine] of machines) {
  test(`the machine of ${providerId} is ${machine}`, () =>
    assert.equal(instanceOf(providerId), machine));
}

test('machines of two scale sets with the same number are two', () => {
  assert.notEqual(instanceOf(`${set}/0`), instanceOf(`${set.replace('pool-', 'other-')}/0`));
});

const infrastructures: readonly (readonly [unknown, string | undefined])[] = [
  [{ status: { platformStatus: { aws: { region: 'us-east-2' }, type: 'AWS' } } }, 'us-east-2'],
  [{ status: { platformStatus: { type: 'GCP', gcp: { region: 'x' } } } }, undefined],
  [{ status: { platformStatus: null } }, undefined],
  [{ status: { platform: 'AWS' } }, undefined],
  [{ status: { platformStatus: { aws: { region: '' } } } }, undefined],
  [{ status: { platformStatus: { aws: { region: 7 } } } }, undefined],
  [{}, undefined],
  [null, undefined],
  [undefined, undefined],
];
for (const [raw, region] of infrastructures) {
  test(`Infrastructure ${JSON.stringify(raw)} is in ${region}`, () =>
    assert.equal(regionOfInfrastructure(raw), region));
}

const configs: readonly (readonly [string, unknown, string | undefined])[] = [
  [
    'a region',
    { data: { 'install-config': 'apiVersion: v1\nplatform:\n  aws:\n    region: eu-west-1\n' } },
    'eu-west-1',
  ],
  [
    'another platform',
    { data: { 'install-config': 'platform:\n  gcp:\n    region: x\n' } },
    undefined,
  ],
  ['no platform', { data: { 'install-config': 'platform: none\n' } }, undefined],
  ['what is not valid YAML', { data: { 'install-config': 'a: [b' } }, undefined],
  ['nothing', { data: { 'install-config': '' } }, undefined],
  ['no such key', { data: {} }, undefined],
  ['no data', {}, undefined],
];
for (const [what, raw, region] of configs) {
  test(`an install-config with ${what} is in ${region}`, () =>
    assert.equal(regionOfInstallConfig(raw), region));
}
