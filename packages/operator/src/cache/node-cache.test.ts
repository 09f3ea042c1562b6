import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeNode } from '@drydock/core/testing';
import { NodeCache } from './node-cache.ts';

test('the version of the labels changes when a node comes, goes or gets other labels, whoever tells, and with nothing else', () => {
  const nodes = new NodeCache();
  const changes = (tell: () => unknown): boolean => {
    const before = nodes.labelsVersion;
    tell();
    return nodes.labelsVersion !== before;
  };
  const node = (resourceVersion: string, labels: Readonly<Record<string, string>>) =>
    makeNode({ resourceVersion, labels });
  const [blue, green] = [{ pool: 'blue' }, { pool: 'green' }];
  assert.equal(
    changes(() => nodes.apply({ type: 'added', object: node('1', {}) })),
    true,
  );
  assert.equal(
    changes(() => nodes.apply({ type: 'changed', object: node('2', blue), before: node('1', {}) })),
    true,
  );
  assert.equal(
    changes(() =>
      nodes.apply({ type: 'changed', object: node('3', { ...blue }), before: node('2', blue) }),
    ),
    false,
    'a heartbeat',
  );
  assert.equal(
    changes(() => nodes.observe(node('4', green))),
    true,
    'an answer',
  );
  assert.equal(
    changes(() =>
      nodes.apply({ type: 'changed', object: node('3', blue), before: node('2', blue) }),
    ),
    false,
    'late',
  );
  assert.equal(
    changes(() => nodes.forget(makeNode().name)),
    true,
  );
  assert.equal(
    changes(() => nodes.apply({ type: 'removed', object: node('5', green) })),
    false,
    'it is gone already',
  );
});

test('the nodes of the control plane, as they are now, whoever tells', () => {
  const nodes = new NodeCache();
  const member = { 'node-role.kubernetes.io/control-plane': '' };
  const node = (name: string, resourceVersion: string, labels: Readonly<Record<string, string>>) =>
    makeNode({ key: name, name, uid: `uid-${name}`, resourceVersion, labels });
  for (const [name, labels] of [
    ['a', member],
    ['b', {}],
    ['c', { 'node-role.kubernetes.io/etcd': '' }],
  ] as const)
    nodes.apply({ type: 'added', object: node(name, '1', labels) });
  const members = () =>
    nodes.controlPlane.map(({ name, resourceVersion }) => `${name}@${resourceVersion}`).sort();
  assert.deepEqual(members(), ['a@1', 'c@1']);
  nodes.observe(node('b', '2', member));
  nodes.apply({ type: 'changed', object: node('a', '3', {}), before: node('a', '1', member) });
  assert.deepEqual(members(), ['b@2', 'c@1']);
  nodes.forget('c');
  assert.deepEqual(members(), ['b@2']);
});
