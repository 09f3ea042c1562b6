import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StoredObject } from './inventory.ts';
import { changeBy, managerOf, removalBy } from './others.ts';

function stored(kind: string, metadata: object): StoredObject {
  return {
    apiVersion: 'v1',
    kind,
    metadata: { name: 'drydock', uid: '1', ...metadata },
  };
}

const plain = stored('Service', { labels: { 'drydock.dev/part': 'operator' } });

test('what Helm or OLM has installed is removed by them, and the command is named', () => {
  const release = {
    'meta.helm.sh/release-name': 'our-drydock',
    'meta.helm.sh/release-namespace': 'maint',
  };
  const helm = stored('Deployment', {
    annotations: release,
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
  });
  const olm = stored('Deployment', { labels: { 'olm.owner': 'drydock.v0.1.0' } });
  const extension = stored('Deployment', {
    annotations: release,
    labels: {
      'olm.operatorframework.io/owner-kind': 'ClusterExtension',
      'olm.operatorframework.io/owner-name': 'drydock',
    },
  });
  const removal = (...here: readonly StoredObject[]): string => {
    const manager = managerOf(here, 'maint');
    return manager === undefined ? 'nobody' : removalBy(manager, 'maint');
  };
  assert.match(
    removal(plain, helm),
    /^Helm has installed it: helm uninstall our-drydock --namespace maint; then/,
  );
  assert.match(
    removal(plain, olm),
    /kubectl -n maint delete clusterserviceversion drydock\.v0\.1\.0; then/,
  );
  assert.match(
    removal(plain, extension),
    /^OLM has installed it: kubectl delete clusterextension drydock, which deletes the kinds/,
  );
  assert.equal(managerOf([plain], 'maint'), undefined);
  assert.equal(
    managerOf([stored('Namespace', { annotations: release })], 'maint'),
    undefined,
    'what Helm leaves is nobody else’s any more',
  );
});

test('what Helm or OLM has installed is changed by them, and the command is named, as words of a shell', () => {
  const change = (metadata: object): string => {
    const manager = managerOf([plain, stored('Deployment', metadata)], 'maint');
    return manager === undefined ? 'nobody' : changeBy(manager, 'maint');
  };
  const helm = (release: string, namespace: string): object => ({
    annotations: {
      'meta.helm.sh/release-name': release,
      'meta.helm.sh/release-namespace': namespace,
    },
  });
  assert.match(
    change(helm('our-drydock', 'maint')),
    /^Helm has installed it: helm upgrade our-drydock CHART --namespace maint changes it; --take-ownership /,
  );
  for (const [release, namespace] of [
    ['x; reboot', 'maint'],
    ['x,name=other', 'maint'],
    ['other', 'elsewhere'],
    ['', 'maint'],
  ] as const)
    assert.equal(
      change(helm(release, namespace)),
      'nobody',
      'marks that Helm has not made of this installation',
    );
  assert.match(
    change({ labels: { 'olm.owner': 'drydock.v0.1.0' } }),
    /^OLM has installed it, and would change it back: .* get subscriptions/,
  );
  assert.match(
    change({ labels: { 'olm.operatorframework.io/owner-name': 'drydock' } }),
    /^OLM has installed it, and would change it back: change the version in clusterextension drydock; /,
  );
});
