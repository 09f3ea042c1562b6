import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { providerForms } from '../testing/provider-ids.ts';
import {
  identityGroup,
  instanceIn,
  instanceOf,
  isAgentsOwn,
  isCalled,
  isEc2Instance,
  isSameProviderId,
} from './provider-id.ts';

describe('how each provider calls a machine', () => {
  for (const {
    name,
    providerId,
    instance,
    alsoCalled = [],
    notCalled = [],
    told = [],
    isEc2,
  } of providerForms)
    test(`${name}: ${providerId}`, () => {
      assert.equal(instanceOf(providerId), instance);
      assert.equal(isEc2Instance(providerId), isEc2 === true);
      for (const called of [
        providerId,
        ...(instance === undefined ? [] : [instance]),
        ...alsoCalled,
      ]) {
        assert.equal(isCalled(providerId, called), true, called);
        assert.ok(
          [instanceIn(called).toLowerCase(), identityGroup({ providerId: called })].includes(
            identityGroup({ providerId }),
          ),
          `found by ${called}`,
        );
      }
      for (const called of ['', 'another', ...notCalled])
        assert.equal(isCalled(providerId, called), false, called);
      for (const [provider, said, own] of told)
        assert.equal(
          isAgentsOwn({ provider, instance: said }, providerId),
          own,
          `${provider} ${said}`,
        );
      for (const provider of ['aws', 'azure', 'gcp'])
        assert.equal(isAgentsOwn({ provider, instance: 'x' }, undefined), true);
    });

  test('no name of one is a name of another', () => {
    for (const one of providerForms)
      for (const other of providerForms.filter(form => form !== one))
        for (const called of [other.providerId, ...(other.alsoCalled ?? [])])
          assert.equal(isCalled(one.providerId, called), false, `${one.name} is called ${called}`);
  });

  test('what is no providerID names no instance', () => {
    for (const odd of [
      undefined,
      '',
      'aws:///eu-1a/',
      'no provider',
      'aws://',
      'ocid1.',
      'cn-hangzhou.',
      'i-1',
    ])
      assert.equal(instanceOf(odd), undefined, String(odd));
  });
});

describe('two providerIDs name the same machine', () => {
  const azure =
    'azure:///subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/vm1';
  const id = '4230d3d2-6a1b-4c5d-9e0f-0123456789ab';
  const cases: readonly (readonly [string | undefined, string | undefined, boolean])[] = [
    ['aws:///a/i-1', 'aws:///a/i-1', true],
    ['aws:///a/i-1', 'aws:///b/i-1', false],
    ['aws:///a/i-1', 'aws:///a/i-2', false],
    ['aws:///a/i-1', 'AWS:///A/I-1', false],
    [azure, azure.toLowerCase(), true],
    [azure, azure.replace('vm1', 'vm2'), false],
    ['gce://p/z/n', 'gce://p/z/N', false],
    ['gce://p/z/n', 'gce://q/z/n', false],
    [`vsphere://${id}`, `vsphere://${id.toUpperCase()}`, true],
    [`openstack:///${id}`, `openstack://RegionOne/${id}`, true],
    [`openstack:///${id}`, `vsphere://${id}`, false],
    ['ocid1.instance.oc1.phx.a', 'oci://ocid1.instance.oc1.phx.a', true],
    ['cn-hangzhou.i-1', 'alicloud://cn-hangzhou.i-1', true],
    ['cn-hangzhou.i-1', 'cn-beijing.i-1', false],
    ['vsphere://4230', 'aws:///a/4230', false],
    ['', '', false],
    [undefined, undefined, false],
    ['aws:///a/i-1', undefined, false],
    [undefined, 'aws:///a/i-1', false],
  ];
  for (const [one, other, same] of cases)
    test(`${one} and ${other}: ${same ? 'yes' : 'no'}`, () => {
      assert.equal(isSameProviderId(one, other), same);
      assert.equal(isSameProviderId(other, one), same);
    });
});

test('whatever is sent as a name of a machine is read, and what is the same is called so and in the same group', () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom(
      ...providerForms.flatMap(({ providerId, alsoCalled = [] }) => [providerId, ...alsoCalled]),
    ),
  );
  fc.assert(
    fc.property(text, text, (one, other) => {
      assert.equal(typeof instanceIn(one), 'string');
      if (one === '' || !isSameProviderId(one, other)) return;
      assert.ok(isCalled(one, other));
      assert.equal(identityGroup({ providerId: one }), identityGroup({ providerId: other }));
    }),
  );
});
