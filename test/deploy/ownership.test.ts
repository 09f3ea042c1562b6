import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { manifestsIn } from '@drydock/cli/install';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { collectionOf, create } from '../control-plane/objects/cluster.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { drydock, operatorUsers } from '../operator/harness/shipped.ts';

/** What an installation has made is known: only that is changed and removed. */

const started = await startControlPlane({ users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;
const deploy = join(import.meta.dirname, '..', '..', 'deploy');

type Stored = {
  readonly metadata: {
    readonly labels?: object;
    readonly annotations?: object;
    readonly ownerReferences?: object;
  };
};

describe('what an installation has made', { skip, timeout: 240_000 }, () => {
  const { api } = controlPlane;
  after(() => controlPlane.stop());

  const say = (...args: readonly string[]): Promise<Outcome> =>
    drydock([...args, '--kubeconfig', controlPlane.kubeconfig]);
  const install = (...args: readonly string[]): Promise<Outcome> =>
    say('install', '--apply', ...args);
  const marksOf = async (path: string): Promise<Stored['metadata']> => {
    const {
      labels = {},
      annotations = {},
      ownerReferences = [],
    } = (await api.get<Stored>(path)).metadata;
    return { labels, annotations, ownerReferences };
  };

  test('objects that were there before keep labels, annotations and owners, and pods that need more are spoken of', async () => {
    const enforce = 'pod-security.kubernetes.io/enforce';
    const theirs = {
      'kube-system': {},
      'medik8s-leases': { team: 'nodes', [enforce]: 'privileged' },
      'node-maintenance': {},
      'drydock-agent': { [enforce]: 'baseline' },
      'drydock-plans': {},
    };
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'not-there' };
    for (const [name, labels] of Object.entries(theirs))
      if (name !== 'kube-system')
        await create(api, {
          apiVersion: 'v1',
          kind: 'Namespace',
          metadata: { name, labels, annotations: { by: 'them' } },
        });
    const crd = 'nodemaintenances.nodemaintenance.medik8s.io';
    const [kind] = manifestsIn(readFileSync(join(deploy, 'crds', `${crd}.yaml`), 'utf8'));
    assert.ok(kind);
    await create(api, {
      ...kind,
      metadata: {
        ...kind.metadata,
        labels: { olm: 'theirs' },
        annotations: { by: 'them' },
        ownerReferences: [owner],
      },
    });
    const paths = [
      ...Object.keys(theirs).map(name => `/api/v1/namespaces/${name}`),
      `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd}`,
    ];
    const before = await Promise.all(paths.map(marksOf));

    const first = await install(
      '--namespace',
      'kube-system',
      '--with',
      'agent',
      'plans',
      '--force-conflicts',
    );
    assert.equal(first.code, 0, first.stdout + first.stderr);
    assert.deepEqual(await Promise.all(paths.map(marksOf)), before);
    assert.match(
      first.stdout,
      /^namespace\/kube-system left alone: drydock has not created it, and keeps its labels$/m,
    );
    assert.match(first.stdout, /^namespace\/medik8s-leases unchanged$/m);
    assert.match(
      first.stdout,
      /^namespace\/drydock-agent left alone: drydock has not created it, and keeps its labels, but these refuse the pods of drydock \(pod-security\.kubernetes\.io\/enforce=baseline\): run kubectl label namespace drydock-agent --overwrite pod-security\.kubernetes\.io\/enforce=privileged$/m,
    );
    assert.match(
      first.stdout,
      /^namespace\/drydock-plans left alone: drydock has not created it, and keeps its labels$/m,
    );

    const printed = await drydock(['install', '--namespace', 'kube-system']);
    assert.doesNotMatch(
      printed.stdout,
      /^ {2}name: kube-system$/m,
      'whoever pipes it into kubectl changes no label either',
    );
    assert.equal(
      printed.stderr,
      'drydock: namespace kube-system is left out: it has to be there, and keeps its labels\n',
    );
    assert.match(
      (await drydock(['install', '--namespace', 'maint'])).stdout,
      /^kind: Namespace\nmetadata:\n {2}name: maint\n {2}labels:$/m,
    );
  });

  test('what carries our labels and is not ours is neither pruned nor removed', async () => {
    const labels = (part: string): Readonly<Record<string, string>> => ({
      'app.kubernetes.io/name': 'drydock',
      'app.kubernetes.io/part-of': 'drydock',
      'drydock.dev/installation': 'kube-system',
      'drydock.dev/part': part,
    });
    const widgets = {
      group: 'example.test',
      scope: 'Cluster',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object' } },
        },
      ],
    };
    const rbac = 'rbac.authorization.k8s.io/v1';
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' };
    const theirs = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: labels('rbac') } },
      {
        apiVersion: rbac,
        kind: 'ClusterRole',
        metadata: { name: 'drydock-operator-copy', labels: labels('rbac') },
        rules: [],
      },
      {
        apiVersion: rbac,
        kind: 'ClusterRoleBinding',
        metadata: { name: 'theirs', labels: labels('plans') },
        roleRef,
        subjects: [],
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name: 'policies', labels: labels('webhook') },
        webhooks: [],
      },
      {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'widgets.example.test', labels: labels('crds') },
        spec: widgets,
      },
      {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'drydock', namespace: 'shop', labels: labels('rbac') },
      },
      {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'theirs', namespace: 'drydock-agent', labels: labels('agent') },
        spec: {},
      },
    ];
    await create(api, ...theirs);
    const paths = theirs.map(({ apiVersion, kind, metadata }) =>
      join(
        collectionOf(apiVersion, kind, 'namespace' in metadata ? metadata.namespace : undefined),
        metadata.name,
      ),
    );
    const statuses = (): Promise<readonly number[]> =>
      Promise.all(paths.map(async path => (await api.call('GET', path)).status));

    const pruned = await install('--namespace', 'kube-system', '--without', 'agent', 'webhook');
    assert.equal(pruned.code, 0, pruned.stdout + pruned.stderr);
    assert.match(pruned.stdout, /^daemonset\.apps\/drydock-agent pruned$/m, 'what is ours goes');
    assert.deepEqual(
      await statuses(),
      theirs.map(() => 200),
    );
    const removed = await say('uninstall', '--namespace', 'kube-system', '--apply', '--with-kinds');
    assert.equal(removed.code, 0, removed.stdout + removed.stderr);
    assert.match(
      removed.stdout,
      /^clusterrole\.rbac\.authorization\.k8s\.io\/drydock-operator deleted$/m,
    );
    assert.deepEqual(
      await statuses(),
      theirs.map(() => 200),
    );
  });
});
