import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type HypervisorIdentity,
  hypervisorKey,
  type Match,
  matchHosts,
  type NodeIdentity,
} from './match.ts';

const uuid = '6f70656e-7374-4163-8b00-000000000001';
const vmPod = 'openstack:///6f70656e-7374-4163-8b00-00000000beef';

type Case = readonly [
  string,
  readonly (string | NodeIdentity)[],
  readonly (string | HypervisorIdentity)[],
  Readonly<Record<string, string>>,
];

const cases: readonly Case[] = [
  [
    'the same name',
    ['compute-1', 'worker'],
    ['compute-1', 'compute-2'],
    { 'compute-1': 'compute-1' },
  ],
  ['another case of letters', ['Compute-1'], ['compute-1'], { 'Compute-1': 'compute-1' }],
  [
    'the name of the hypervisor',
    ['c1.example.com'],
    [{ host: 'c1', hostname: 'c1.example.com' }],
    { 'c1.example.com': 'c1' },
  ],
  ['a node without the domain', ['c1'], ['c1.example.com'], { c1: 'c1.example.com' }],
  ['a host without the domain', ['c1.example.com'], ['c1'], { 'c1.example.com': 'c1' }],
  ['two domains are two machines', ['c1.a.com'], ['c1.b.com'], {}],
  [
    'short for two of them',
    ['c1'],
    ['c1.a.com', 'c1.b.com'],
    { c1: 'it may be any of the hypervisors c1.a.com, c1.b.com: say which' },
  ],
  [
    'the full name counts before the short one',
    ['c1.a.com', 'c1'],
    ['c1.a.com', 'c1'],
    { 'c1.a.com': 'c1.a.com', c1: 'c1' },
  ],
  [
    'one host, two nodes',
    ['c1.a.com', 'c1.b.com'],
    ['c1'],
    {
      'c1.a.com': 'hypervisor c1 may be the node c1.b.com as well',
      'c1.b.com': 'hypervisor c1 may be the node c1.a.com as well',
    },
  ],
  [
    'what a node says itself counts before the name of another',
    [{ name: 'a', annotations: { [hypervisorKey]: 'c1' } }, 'c1'],
    ['c1'],
    { a: 'c1', c1: 'hypervisor c1 may be the node a as well' },
  ],
  [
    'a weaker claim loses',
    ['c1', 'c1.a.com'],
    ['c1'],
    { c1: 'c1', 'c1.a.com': 'hypervisor c1 may be the node c1 as well' },
  ],
  ['an annotation', [{ name: 'n1', annotations: { [hypervisorKey]: 'c1' } }], ['c1'], { n1: 'c1' }],
  ['a label', [{ name: 'c2', labels: { [hypervisorKey]: 'c1' } }], ['c1', 'c2'], { c2: 'c1' }],
  [
    'one that names nobody',
    [{ name: 'c1', labels: { [hypervisorKey]: 'c9' } }],
    ['c1'],
    { c1: `${hypervisorKey} of the node says c9` },
  ],
  [
    'a guest of the cloud is none',
    [{ name: 'vm-1', providerId: vmPod }],
    [{ host: 'c1', id: uuid }],
    {},
  ],
  [
    'a node made by another cloud may be one of this',
    [{ name: 'c1', providerId: vmPod }],
    [{ host: 'c1', id: uuid }],
    { c1: 'c1' },
  ],
  [
    'a providerID with the UUID of the hypervisor',
    [{ name: 'n1', providerId: `metal:///${uuid}` }],
    [{ host: 'c1', id: uuid }],
    { n1: 'c1' },
  ],
  ['addresses have no domains', ['10.0.0.1'], ['10'], {}],
  [
    'two hypervisors of one service',
    ['c1'],
    [
      { host: 'c1', hostname: 'a' },
      { host: 'c1', hostname: 'b' },
    ],
    { c1: 'c1' },
  ],
];

function textOf(match: Match): string {
  return 'host' in match ? match.host : match.problem;
}

for (const [what, nodes, hosts, expected] of cases) {
  test(`node and hypervisor: ${what}`, () => {
    const matches = matchHosts(
      nodes.map(node => (typeof node === 'string' ? { name: node } : node)),
      hosts.map(host => (typeof host === 'string' ? { host } : host)),
    );
    assert.deepEqual([...matches.keys()].sort(), Object.keys(expected).sort());
    for (const [node, text] of Object.entries(expected)) {
      const match = matches.get(node);
      assert.ok(match);
      assert.ok(textOf(match).startsWith(text), textOf(match));
      assert.equal('host' in match, !text.includes(' '));
    }
  });
}
