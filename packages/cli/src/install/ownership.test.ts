import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Manifest } from './install-locate.ts';
import { belongingTo, installationOf, manifests } from './inventory.ts';
import { defaultNamespace, defaultParts, extraParts } from './rollout.ts';

function labels(part: string, installation = defaultNamespace): Readonly<Record<string, string>> {
  return {
    'app.kubernetes.io/part-of': 'drydock',
    'drydock.dev/installation': installation,
    'drydock.dev/part': part,
  };
}

function object(kind: string, metadata: Manifest['metadata']): Manifest {
  return { apiVersion: 'v1', kind, metadata };
}

test('what an installation makes is its own, in whatever namespace it is, and of no other installation', () => {
  for (const namespace of [defaultNamespace, 'maint', 'kube-system', 'node-maintenance']) {
    const all = manifests({
      parts: new Set([...defaultParts, ...extraParts]),
      groups: [],
      namespace,
    });
    const [isOfInstallation, isOfAnother] = [belongingTo(namespace), belongingTo('elsewhere')];
    const labelled = all.filter(one => installationOf(one) !== undefined);
    assert.ok(labelled.length > 70, String(labelled.length));
    assert.deepEqual(
      labelled
        .filter(one => !isOfInstallation(one))
        .map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      [],
    );
    assert.deepEqual(labelled.filter(isOfAnother), []);
  }
});

test('a prefix before all names is known by that of the operator, and by nothing else', () => {
  const all = manifests({
    parts: new Set([...defaultParts, ...extraParts]),
    groups: [],
    namespace: defaultNamespace,
  });
  const prefixed = all
    .filter(one => installationOf(one) !== undefined && one.kind !== 'Namespace')
    .map(one => ({ ...one, metadata: { ...one.metadata, name: `prod-${one.metadata.name}` } }));
  assert.deepEqual(
    prefixed
      .filter(one => !belongingTo(defaultNamespace, prefixed)(one))
      .map(({ metadata }) => metadata.name),
    [],
  );
  const isOperator = ({ kind, metadata }: Manifest): boolean =>
    kind === 'Deployment' && metadata.name === 'prod-drydock';
  const without = prefixed.filter(one => !isOperator(one));
  assert.deepEqual(without.filter(belongingTo(defaultNamespace, without)), []);
  const elsewhere = prefixed.map(one =>
    isOperator(one) ? { ...one, metadata: { ...one.metadata, namespace: 'shop' } } : one,
  );
  assert.deepEqual(elsewhere.filter(belongingTo(defaultNamespace, elsewhere)), []);
});

/**
 * Labels of ours on an object that we have not made: copied with the object, or put there on
 * purpose.
 */
const forged: Readonly<Record<string, Manifest>> = {
  'a copy of a role under a name of their own': object('ClusterRole', {
    name: 'drydock-operator-copy',
    labels: labels('rbac'),
  }),
  'a namespace of theirs': object('Namespace', { name: 'shop', labels: labels('rbac') }),
  'the namespaces that others use': object('Namespace', {
    name: 'medik8s-leases',
    labels: labels('shared-namespaces'),
  }),
  'a webhook of theirs': object('ValidatingWebhookConfiguration', {
    name: 'policies',
    labels: labels('webhook'),
  }),
  'a kind of theirs': object('CustomResourceDefinition', {
    name: 'widgets.example.test',
    labels: labels('crds'),
  }),
  'a kind of ours': object('CustomResourceDefinition', {
    name: 'nodemaintenances.nodemaintenance.medik8s.io',
    labels: labels('crds'),
  }),
  'our name in a namespace of theirs': object('Deployment', {
    name: 'drydock',
    namespace: 'shop',
    labels: labels('operator'),
  }),
  'our name in another kind': object('ConfigMap', {
    name: 'drydock',
    namespace: defaultNamespace,
    labels: labels('operator'),
  }),
  'a part that has no such object': object('ClusterRole', {
    name: 'drydock-operator',
    labels: labels('webhook'),
  }),
  'no part': object('ClusterRole', {
    name: 'drydock-operator',
    labels: { 'drydock.dev/installation': defaultNamespace },
  }),
  'no installation': object('ClusterRole', {
    name: 'drydock-operator',
    labels: { 'drydock.dev/part': 'rbac' },
  }),
  'another installation': object('ClusterRole', {
    name: 'drydock-operator',
    labels: labels('rbac', 'maint'),
  }),
  'no label at all': object('ClusterRole', { name: 'drydock-operator' }),
};

test('labels alone prove nothing: a table of what is not the installation’s', () => {
  const isOfInstallation = belongingTo(defaultNamespace);
  for (const [what, one] of Object.entries(forged))
    assert.equal(isOfInstallation(one), false, what);
  assert.equal(
    isOfInstallation(object('ClusterRole', { name: 'drydock-operator', labels: labels('rbac') })),
    true,
  );
});
