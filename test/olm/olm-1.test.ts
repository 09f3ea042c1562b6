import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { namespace, node } from '../control-plane/objects/manifests.ts';
import type { Condition } from '../control-plane/objects/objects.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { Running } from '../control-plane/processes/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { applyAll, certificates, documentsIn, kindsServed } from '../integrations/installed.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  remove,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { forbiddenCalls, operatorUsers } from '../operator/harness/shipped.ts';
import { callWebhookAt } from '../operator/harness/webhook-address.ts';
import { crane, type Registry, startRegistry } from '../release/crane.ts';
import { controllers1, olm1Sources } from './controllers.ts';
import { olderKind } from './older-operator.ts';
import { fileOf, home, makeRelease, unpacked, version } from './released.ts';
import { installedFindings, intendedRights, rightsOf } from './seen.ts';
import { leftOutOf, programIn } from './validators.ts';

/**
 * The bundle for OLM 1, from a registry, installed by its own controllers on a real control plane.
 */

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut =
  started.kind === 'left-out'
    ? `control plane left out: ${started.why}`
    : leftOutOf(crane, controllers1);
const external =
  started.kind === 'started' &&
  started.external &&
  'it installs OLM 1: it needs a control plane of its own';
const controlPlane = started as ControlPlane;

const system = 'olmv1-system';
const kinds = '/apis/olm.operatorframework.io/v1';

type Conditions = {
  readonly status?: {
    readonly conditions?: readonly (Condition & { readonly message?: string })[];
  };
};

/** The lines of docs/install-olm.md. */
const handOver = [
  ...readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'install-olm.md'), 'utf8').matchAll(
    /`(kubectl (?:label|annotate) crd [^`]*)`/g,
  ),
].map(([, command = '']) => command);

describe('OLM 1 on a real control plane', { skip: leftOut || external, timeout: 300_000 }, () => {
  const { api, folder } = controlPlane;
  const startOperator = operatorsOn(controlPlane);
  const running: Running[] = [];
  const start = (
    name: string,
    command: string,
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): void =>
    void running.push(
      controlPlane.run({ name, command, args, cwd: folder, patience: '5s', environment }),
    );

  let registry: Registry | undefined;

  /** Serves the images of the release: resolves with its address. */
  const serveImages = async (): Promise<string> => {
    const serving = await startRegistry();
    registry = serving;
    await makeRelease('--registry', serving.address);
    for (const what of ['bundle', 'catalog'])
      await serving.push(
        await unpacked(`olm-1-${what}-image`, folder),
        `drydock-${what}-olm-1:${version}`,
      );
    return serving.address;
  };

  const startControllers = async (address: string): Promise<void> => {
    const home = join(folder, 'home');
    mkdirSync(join(home, '.config', 'containers'), { recursive: true });
    writeFileSync(
      join(home, '.config', 'containers', 'registries.conf'),
      `[[registry]]\nlocation = "${address}"\ninsecure = true\n`,
    );
    const authorities = join(folder, 'authorities');
    mkdirSync(authorities);
    writeFileSync(join(authorities, 'ca.crt'), controlPlane.accessOf('admin').ca ?? '');
    const certificate = certificates(controlPlane, 'catalogd');
    const [catalogs, metrics, webhook, ...health] = (await freePorts(5)).map(
      port => `127.0.0.1:${port}`,
    );
    const environment = { KUBECONFIG: controlPlane.kubeconfig, HOME: home };
    const common = ['--system-namespace', system];
    start(
      'catalogd',
      programIn(controllers1, 'catalogd'),
      [
        ...common,
        `--tls-cert=${certificate}/tls.crt`,
        `--tls-key=${certificate}/tls.key`,
        `--cache-dir=${join(folder, 'catalogd')}`,
        `--catalogs-server-addr=${catalogs ?? ''}`,
        `--external-address=${catalogs ?? ''}`,
        `--metrics-bind-address=${metrics ?? ''}`,
        `--webhook-server-port=${webhook?.split(':')[1] ?? ''}`,
        `--health-probe-bind-address=${health[0] ?? ''}`,
      ],
      environment,
    );
    start(
      'operator-controller',
      programIn(controllers1, 'operator-controller'),
      [
        ...common,
        `--catalogd-cas-dir=${authorities}`,
        `--cache-path=${join(folder, 'operator-controller')}`,
        `--health-probe-bind-address=${health[1] ?? ''}`,
      ],
      environment,
    );
  };

  const conditionOf = async (path: string, type: string): Promise<void> =>
    waitFor(
      `${path} to be ${type}`,
      async () => {
        const { conditions = [] } = (await api.get<Conditions>(path)).status ?? {};
        if (conditions.some(one => one.type === type && one.status === 'True'))
          return { done: undefined };
        return {
          yet: `${JSON.stringify(conditions)}\n${running.map(one => one.tail(8)).join('\n')}`,
        };
      },
      { deadlineMs: 90_000 },
    );

  before(async () => {
    const sources = await olm1Sources();
    const crds = [
      'catalogd/crd/bases/olm.operatorframework.io_clustercatalogs.yaml',
      'operator-controller/crd/bases/olm.operatorframework.io_clusterextensions.yaml',
    ];
    await applyAll(api, documentsIn(...crds.map(file => join(sources, 'config', 'base', file))));
    await kindsServed(api);
    await create(api, namespace(system), node('n1'), node('n2'));
    await nodesReady(api, ['n1', 'n2']);
    const address = await serveImages();
    await startControllers(address);
    const image = { ref: `${address}/drydock-catalog-olm-1:${version}` };
    await create(api, {
      apiVersion: 'olm.operatorframework.io/v1',
      kind: 'ClusterCatalog',
      // The label is written by catalogd's webhook, where it is installed.
      metadata: {
        name: 'drydock',
        labels: { 'olm.operatorframework.io/metadata.name': 'drydock' },
      },
      spec: { source: { type: 'Image', image } },
    });
  });
  after(async () => {
    registry?.stop();
    await controlPlane.stop();
  });

  test('a kind of an older operator can be handed over', async () => {
    await create(api, olderKind);
    assert.equal(handOver.length, 2);
    for (const command of handOver) {
      const { code, stderr } = await controlPlane.kubectl(command.split(' ').slice(1));
      assert.equal(code, 0, stderr);
    }
  });

  test('the catalog is served', async () =>
    conditionOf(`${kinds}/clustercatalogs/drydock`, 'Serving'));

  test('a ClusterExtension is installed, by the objects of the bundle and those applied before', async () => {
    const applied = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '-f',
      fileOf('olm-1-prerequisites.yaml'),
    ]);
    assert.equal(applied.code, 0, applied.stderr);
    await create(
      api,
      {
        apiVersion: 'v1',
        kind: 'ServiceAccount',
        metadata: { name: 'installer', namespace: home },
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'installer' },
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'cluster-admin',
        },
        subjects: [{ kind: 'ServiceAccount', name: 'installer', namespace: home }],
      },
      {
        apiVersion: 'olm.operatorframework.io/v1',
        kind: 'ClusterExtension',
        metadata: { name: 'drydock' },
        spec: {
          namespace: home,
          serviceAccount: { name: 'installer' },
          install: { preflight: { crdUpgradeSafety: { enforcement: 'None' } } },
          source: {
            sourceType: 'Catalog',
            catalog: { packageName: 'drydock', channels: ['stable'] },
          },
        },
      },
    );
    await conditionOf(`${kinds}/clusterextensions/drydock`, 'Installed');
  });

  test('with the rights that the manifests give, no more', async () =>
    assert.deepEqual(await rightsOf(controlPlane), intendedRights));

  test('the operator works with these rights, and its webhook has the certificate that it makes itself', async () => {
    const [port = 0] = await freePorts(1);
    await callWebhookAt(api, port);
    const operator = await startOperator({
      flags: ['--leader-elect', `--webhook-port=${port}`, '--webhook-extra-name=127.0.0.1'],
    });
    const object = maintenance('n1');
    const path = '/apis/drydock.dev/v1alpha1/maintenances?dryRun=All';
    await until(
      'the webhook to be trusted',
      async () => (await api.call('POST', path, object)).status === 201,
    );
    // Nothing in this control plane keeps the endpoints of Services; the webhook is asked, and
    // answers.
    assert.deepEqual(await installedFindings(controlPlane), []);
    await create(api, object);
    await untilMaintenance(api, 'n1', 'Drained');
    await remove(api, maintenancePath('n1'));
    await operator.running.stop();
    assert.deepEqual(
      await forbiddenCalls(controlPlane),
      [],
      'everything that it asked for is allowed',
    );
  });

  test('the kinds are owned by the ClusterExtension, and would go with it, as docs/install-olm.md warns', async () => {
    type Owned = {
      readonly metadata: {
        readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
      };
    };
    for (const kind of [
      'maintenances.drydock.dev',
      'nodemaintenances.nodemaintenance.medik8s.io',
    ]) {
      const { metadata } = await api.get<Owned>(
        `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${kind}`,
      );
      assert.deepEqual(
        metadata.ownerReferences?.map(({ kind, name }) => `${kind} ${name}`),
        ['ClusterExtension drydock'],
      );
    }
  });
});
