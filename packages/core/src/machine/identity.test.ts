import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { identityLack, machineOfNode, nodeOfMachine } from './identity.ts';
import { identityGroup, isSameProviderId } from './provider-id.ts';

const azure =
  'azure:///subscriptions/S/resourceGroups/RG/providers/Microsoft.Compute/virtualMachines/vm1';

const ids = fc.option(
  fc.constantFrom(
    'aws:///a/i-1',
    'aws:///a/i-2',
    'aws:///b/i-1',
    'vsphere://4230',
    azure,
    azure.toUpperCase(),
    'odd',
  ),
  { nil: undefined },
);
const names = fc.constantFrom('n1', 'n2', 'n3');
function optional<K extends string, T>(key: K, value: T | undefined): { readonly [key in K]?: T } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [key in K]?: T });
}
const nodes = fc
  .record({ name: names, id: ids })
  .map(({ name, id }) => ({ name, ...optional('providerId', id) }));
const machines = fc
  .record({
    name: fc.constantFrom('m1', 'm2'),
    namespace: fc.constantFrom('a', 'b'),
    id: ids,
    of: fc.option(names, { nil: undefined }),
  })
  .map(({ name, namespace, id, of }) => ({
    name,
    namespace,
    ...optional('providerId', id),
    ...optional('nodeName', of),
  }));

describe('laws of identity', () => {
  test('a Node and a Machine are found for each other only where both have the same providerID and the Machine names no other node', () => {
    fc.assert(
      fc.property(nodes, fc.array(machines, { maxLength: 5 }), (node, all) => {
        const result = machineOfNode(node, all);
        if ('lack' in result) return result.lack !== '';
        const { providerId, nodeName } = result.found;
        return (
          isSameProviderId(node.providerId, providerId) &&
          (nodeName === undefined || nodeName === node.name)
        );
      }),
    );
    fc.assert(
      fc.property(machines, fc.array(nodes, { maxLength: 5 }), (machine, all) => {
        const result = nodeOfMachine(machine, all);
        return 'lack' in result
          ? result.lack !== ''
          : identityLack(result.found, machine) === undefined;
      }),
    );
  });

  test('several candidates are none, and their order says nothing', () => {
    fc.assert(
      fc.property(nodes, fc.array(machines, { maxLength: 5 }), (node, all) => {
        const candidates = all.filter(machine => identityLack(node, machine) === undefined);
        assert.equal('found' in machineOfNode(node, all), candidates.length === 1);
        assert.equal('found' in machineOfNode(node, all.toReversed()), candidates.length === 1);
      }),
    );
  });

  test('what is the same machine is in the same group', () => {
    fc.assert(
      fc.property(
        nodes,
        machines,
        (node, machine) =>
          identityLack(node, machine) !== undefined ||
          identityGroup(node) === identityGroup(machine),
      ),
    );
  });
});

test('why a Machine is not taken says what to compare', () => {
  const node = { name: 'n1', providerId: 'aws:///a/i-1' };
  const machine = {
    namespace: 'customer',
    name: 'db-1',
    providerId: 'vsphere://4230',
    nodeName: 'n1',
  };
  const lack = (...all: readonly Parameters<typeof identityLack>[1][]): unknown =>
    Object.values(machineOfNode(node, all))[0];
  assert.equal(
    lack(machine),
    'Machine customer/db-1 has providerID vsphere://4230, and node n1 has aws:///a/i-1',
  );
  assert.equal(lack(), 'no Machine has the providerID of node n1');
  const { nodeName: _none, ...own } = { ...machine, providerId: node.providerId };
  assert.equal(
    lack(own, { ...own, namespace: 'tenant' }),
    'several Machines have the providerID of node n1: Machine customer/db-1, Machine tenant/db-1',
  );
  assert.equal(
    lack({ ...own, nodeName: 'n2' }),
    'Machine customer/db-1 has the providerID of node n1, and names node n2 in its status',
  );
});
