import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create } from '../control-plane/objects/cluster.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { drydock } from '../operator/harness/shipped.ts';

/**
 * What Helm or OLM keeps is taken over as a whole or not at all. With Helm itself:
 * test/release/matrix.test.ts.
 */

const started = await startControlPlane({});
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;
const home = 'drydock-system';
const operator = `/apis/apps/v1/namespaces/${home}/deployments/drydock`;
const role = '/apis/rbac.authorization.k8s.io/v1/clusterroles/drydock-drainer';
const secrets = `/api/v1/namespaces/${home}/secrets`;
const admission = '/apis/admissionregistration.k8s.io/v1';

type Stored = {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly template: {
      readonly spec: { readonly containers: readonly { readonly image: string }[] };
    };
  };
};

describe('an installation that another tool keeps', { skip, timeout: 180_000 }, () => {
  const { api } = controlPlane;
  after(() => controlPlane.stop());

  const install = (...args: readonly string[]): Promise<Outcome> =>
    drydock(['install', '--apply', ...args, '--kubeconfig', controlPlane.kubeconfig]);
  const imageNow = async (): Promise<string | undefined> =>
    (await api.get<Stored>(operator)).spec.template.spec.containers[0]?.image;
  const isThere = async (path: string): Promise<boolean> =>
    (await api.call('GET', path)).status === 200;
  const marks = { 'meta.helm.sh/release-name': 'ours', 'meta.helm.sh/release-namespace': home };
  const record = (name: string, release: string): Parameters<typeof create>[1] => ({
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'helm.sh/release.v1',
    metadata: { name, namespace: home, labels: { owner: 'helm', name: release } },
  });

  test('by OLM: it is refused, whatever is said', async () => {
    const first = await install('--image', 'example.test/drydock:1');
    assert.equal(first.code, 0, first.stdout + first.stderr);
    await api.patch(operator, { metadata: { labels: { 'olm.owner': 'drydock.v0.1.0' } } });
    for (const more of [[], ['--take-ownership']]) {
      const { code, stdout, stderr } = await install(...more);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^drydock: OLM has installed it, and would change it back: /);
    }
    await api.patch(operator, { metadata: { labels: { 'olm.owner': null } } });
  });

  test('by Helm: it is taken over when told to, and not when the API server would refuse a part of it', async () => {
    for (const path of [operator, role])
      await api.patch(path, {
        metadata: { annotations: marks, labels: { 'app.kubernetes.io/managed-by': 'Helm' } },
      });
    await create(
      api,
      record('sh.helm.release.v1.ours.v1', 'ours'),
      record('sh.helm.release.v1.ours.v2', 'ours'),
      record('sh.helm.release.v1.theirs.v1', 'theirs'),
      record('another-name', 'ours'),
    );
    const policy = { name: 'no-drainer' };
    await create(
      api,
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: policy,
        spec: {
          matchConstraints: {
            resourceRules: [
              {
                apiGroups: ['rbac.authorization.k8s.io'],
                apiVersions: ['v1'],
                operations: ['UPDATE'],
                resources: ['clusterroles'],
              },
            ],
          },
          validations: [{ expression: "object.metadata.name != 'drydock-drainer'" }],
        },
      },
      {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicyBinding',
        metadata: policy,
        spec: { policyName: policy.name, validationActions: ['Deny'] },
      },
    );
    const touch = { metadata: { annotations: { touched: 'yes' } } };
    await until(
      'the policy to be in force',
      async () =>
        (await api.call('PATCH', `${role}?dryRun=All`, touch, 'application/merge-patch+json'))
          .status >= 400,
    );
    const told = await install('--image', 'example.test/drydock:2');
    assert.match(
      told.stderr,
      /^drydock: Helm has installed it: helm upgrade ours CHART --namespace drydock-system changes it; --take-ownership /,
    );
    const half = await install('--take-ownership', '--image', 'example.test/drydock:2');
    assert.equal(half.code, 1);
    assert.match(
      half.stderr,
      /^drydock: Helm keeps it, and nothing has been changed, because a part of it would be refused: clusterrole\.rbac\.authorization\.k8s\.io\/drydock-drainer FAILED: /m,
    );
    assert.deepEqual(
      [await imageNow(), await isThere(`${secrets}/sh.helm.release.v1.ours.v1`)],
      ['example.test/drydock:1', true],
    );

    for (const kind of ['validatingadmissionpolicybindings', 'validatingadmissionpolicies'])
      await api.delete(`${admission}/${kind}/${policy.name}`);
    await until(
      'the policy to be no more',
      async () =>
        (await api.call('PATCH', `${role}?dryRun=All`, touch, 'application/merge-patch+json'))
          .status === 200,
    );
    const taken = await install('--take-ownership', '--image', 'example.test/drydock:2');
    assert.equal(taken.code, 0, taken.stdout + taken.stderr);
    assert.equal(await imageNow(), 'example.test/drydock:2');
    const left = await Promise.all(
      [
        'sh.helm.release.v1.ours.v1',
        'sh.helm.release.v1.ours.v2',
        'sh.helm.release.v1.theirs.v1',
        'another-name',
      ].map(name => isThere(`${secrets}/${name}`)),
    );
    assert.deepEqual(
      left,
      [false, false, true, true],
      'this release is forgotten, and nothing else',
    );
    for (const path of [operator, role]) {
      const { annotations = {}, labels = {} } = (await api.get<Stored>(path)).metadata;
      assert.deepEqual(
        [annotations['meta.helm.sh/release-name'], labels['app.kubernetes.io/managed-by']],
        [undefined, undefined],
        path,
      );
    }
    const again = await install('--image', 'example.test/drydock:2');
    assert.equal(again.code, 0, again.stderr);
  });
});
