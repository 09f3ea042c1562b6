import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import type { Manifest } from '../../src/cli/install/install-files.ts';
import { create, nodesReady } from '../control-plane/cluster.ts';
import { run } from '../control-plane/command.ts';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { namespace, node } from '../control-plane/manifests.ts';
import { freePorts } from '../control-plane/ports.ts';
import type { Running } from '../control-plane/process.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { controllers, opm, programIn, validators } from './programs.ts';

/** The bundle and the catalog of a release: by the validators of operator-framework, by opm, and installed by OLM itself. */

const root = join(import.meta.dirname, '..', '..');
const released = join(root, 'dist', 'release');
const home = 'drydock-system';
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
const csv = `drydock.v${version}`;
const folder = mkdtempSync(join(tmpdir(), 'drydock-olm-'));
const [bundle, catalog] = [join(folder, 'bundle'), join(folder, 'catalog')];

const builds = [validators, opm, controllers];
const [lacking] = builds.flatMap(built => (built.kind === 'left-out' ? [built.why] : []));
const skip = lacking ?? false;

before(async () => {
  const { code, stderr } = await run(process.execPath, ['tools/release.ts', '--only', 'olm'], { cwd: root });
  assert.deepEqual([code, stderr], [0, '']);
  for (const place of [bundle, catalog]) mkdirSync(place);
  assert.equal((await run('tar', ['-xzf', join(released, `drydock-olm-bundle-${version}.tar.gz`), '-C', bundle])).code, 0);
  cpSync(join(released, `drydock-olm-catalog-${version}.yaml`), join(catalog, 'catalog.yaml'));
});
after(() => rmSync(folder, { recursive: true }));

const started = await startControlPlane({});
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : skip;
const external = started.kind === 'started' && started.external && 'it installs OLM: it needs a control plane of its own';
const controlPlane = started as ControlPlane;

type Finding = { readonly level: string; readonly detail: string };

describe('the bundle', { skip }, () => {
  test('is found right by the validators; what they warn of is known', async () => {
    const { code, stdout, stderr } = await run(programIn(validators, 'validators'), [join(bundle, 'manifests')]);
    assert.equal(code, 0, stderr);
    const known = [
      // They mean the kind of policy/v1beta1; the rule is about policy/v1.
      /removed in v1\.25.*Migrate the API\(s\) for poddisruptionbudgets: \(\["ClusterServiceVersion\.Spec\.InstallStrategy/,
      // Nobody writes these but the operator and its agent.
      /Kind=(MachineMaintenance|NodeNotice): provided API should have an example annotation/,
    ];
    const found = (JSON.parse(stdout) as readonly Finding[]).filter(
      ({ level, detail }) => level === 'error' || !known.some(one => one.test(detail)),
    );
    assert.deepEqual(found, []);
  });

  test('is in a catalog that opm takes, with all its objects', async () => {
    const validated = await run(programIn(opm, 'opm'), ['validate', catalog]);
    assert.equal(validated.code, 0, validated.stderr);
    const { code, stdout } = await run(programIn(opm, 'opm'), ['render', catalog, '--output', 'json']);
    assert.equal(code, 0);
    const objects = [...stdout.matchAll(/"type": "olm\.bundle\.object"/g)];
    assert.equal(objects.length, readdirSync(join(bundle, 'manifests')).length);
  });

  test('is the same, byte for byte, when it is made again', async () => {
    const sums = (): string => readFileSync(join(released, 'SHA256SUMS'), 'utf8');
    const first = sums();
    assert.equal((await run(process.execPath, ['tools/release.ts', '--only', 'olm'], { cwd: root })).code, 0);
    assert.equal(sums(), first);
  });
});

const olmKinds = '/apis/operators.coreos.com';

type Csv = { readonly status?: { readonly phase?: string; readonly message?: string } };

describe('OLM on a real control plane', { skip: leftOut || external, timeout: 300_000 }, () => {
  const { api } = controlPlane;
  const environment = { KUBECONFIG: controlPlane.kubeconfig };
  const running: Running[] = [];
  const start = (name: string, command: string, args: readonly string[]): void =>
    void running.push(controlPlane.run({ name, command, args, cwd: folder, patience: '5s', environment }));

  const served = async (): Promise<void> => {
    const { stdout } = await run(programIn(validators, 'validators'), ['crds']);
    await create(api, ...(JSON.parse(stdout) as readonly Manifest[]));
    await until('the kinds of OLM to be served', async () => {
      const paths = ['v1alpha1/subscriptions', 'v1alpha1/catalogsources', 'v1/operatorgroups', 'v2/operatorconditions', 'v1/olmconfigs'];
      return (await Promise.all(paths.map(path => api.call('GET', `${olmKinds}/${path}`)))).every(({ status }) => status === 200);
    });
  };

  before(async () => {
    await served();
    await create(api, namespace('olm'), namespace(home), node('n1'), node('n2'));
    await nodesReady(api, ['n1', 'n2']);
    // No container runs here that could unpack the image of the bundle: without it OLM takes the objects out of the catalog.
    const file = join(catalog, 'catalog.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace(/^image: drydock-bundle.*\n/m, ''));
    const [port = 0, profile = 0] = await freePorts(2);
    const log = join(folder, 'termination-log');
    start('opm', programIn(opm, 'opm'), ['serve', catalog, '--port', String(port), '--pprof-addr', `127.0.0.1:${profile}`, '-t', log]);
    start('catalog', programIn(controllers, 'catalog'), ['--namespace', 'olm', '--writeStatusName', '', '--interval', '5s']);
    start('olm', programIn(controllers, 'olm'), [
      '--namespace',
      'olm',
      '--writeStatusName',
      '',
      '--writePackageServerStatusName',
      '',
      '--interval',
      '5s',
    ]);
    await create(
      api,
      {
        apiVersion: 'operators.coreos.com/v1alpha1',
        kind: 'CatalogSource',
        metadata: { name: 'drydock', namespace: 'olm' },
        spec: { sourceType: 'grpc', address: `127.0.0.1:${port}`, displayName: 'Drydock' },
      },
      {
        apiVersion: 'operators.coreos.com/v1',
        kind: 'OperatorGroup',
        metadata: { name: 'own', namespace: home },
        spec: { targetNamespaces: [home] },
      },
      {
        apiVersion: 'operators.coreos.com/v1alpha1',
        kind: 'Subscription',
        metadata: { name: 'drydock', namespace: home },
        spec: { channel: 'stable', name: 'drydock', source: 'drydock', sourceNamespace: 'olm' },
      },
    );
  });
  after(() => controlPlane.stop());

  test('a Subscription leads to an install plan, and that to an operator that has succeeded', async () => {
    const path = `${olmKinds}/v1alpha1/namespaces/${home}/clusterserviceversions/${csv}`;
    await waitFor(
      `${csv} to have succeeded`,
      async () => {
        const { status, body } = await api.call('GET', path);
        const { phase, message } = (body as Csv).status ?? {};
        if (phase === 'Succeeded') return { done: undefined };
        const { stdout } = await controlPlane.kubectl(['get', 'subscriptions,installplans', '--namespace', home, '--output', 'yaml']);
        return { yet: `${status} ${phase ?? ''} ${message ?? ''}\n${stdout}\n${running.map(one => one.tail(8)).join('\n')}` };
      },
      { deadlineMs: 120_000 },
    );
    type Step = { readonly status: string; readonly resource: { readonly kind: string; readonly name: string } };
    type Plan = { readonly status: { readonly phase: string; readonly message?: string; readonly plan: readonly Step[] } };
    // OLM makes a second one now and then.
    await waitFor(
      'the install plan to be complete',
      async () => {
        const { items } = await api.get<{ readonly items: readonly Plan[] }>(`${olmKinds}/v1alpha1/namespaces/${home}/installplans`);
        if (items.length > 0 && items.every(({ status }) => status.phase === 'Complete')) return { done: undefined };
        const steps = items.flatMap(({ status }) => status.plan).filter(({ status }) => !['Created', 'Present'].includes(status));
        return {
          yet: `${items.map(({ status }) => status.message).join()} ${JSON.stringify(steps.map(({ status, resource }) => [status, resource.kind, resource.name]))}\n${running[1]?.tail(12)}`,
        };
      },
      { deadlineMs: 120_000 },
    );
  });

  test('with the kinds, a certificate for the webhook, and the rights that the manifests give, no more', async () => {
    for (const kind of ['drydock.dev/v1alpha1/maintenances', 'nodemaintenance.medik8s.io/v1beta1/nodemaintenances'])
      await until(`${kind} to be served`, async () => (await api.call('GET', `/apis/${kind}`)).status === 200);
    type Hook = { readonly name: string; readonly clientConfig: { readonly caBundle?: string } };
    const { items } = await api.get<{ readonly items: readonly { readonly webhooks: readonly Hook[] }[] }>(
      '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    );
    const hooks = items.flatMap(({ webhooks }) => webhooks);
    assert.ok(
      hooks.some(({ name }) => name.startsWith('vnodemaintenance.kb.io')),
      JSON.stringify(hooks.map(({ name }) => name)),
    );
    assert.ok(hooks.every(({ clientConfig }) => (clientConfig.caBundle ?? '') !== ''));
    const may = async (...args: readonly string[]): Promise<string> =>
      (await controlPlane.kubectl(['auth', 'can-i', ...args, `--as=system:serviceaccount:${home}:drydock`])).stdout.trim();
    assert.deepEqual(
      [
        await may('patch', 'nodes'),
        await may('create', 'pods', '--subresource=eviction', '--all-namespaces'),
        await may('update', 'leases.coordination.k8s.io', `--namespace=${home}`),
        await may('update', 'leases.coordination.k8s.io', '--namespace=kube-system'),
        await may('get', 'secrets', '--all-namespaces'),
      ],
      ['yes', 'yes', 'yes', 'no', 'no'],
    );
  });

  test('its examples are accepted by its kinds', async () => {
    const file = readFileSync(join(bundle, 'manifests', 'drydock.clusterserviceversion.yaml'), 'utf8');
    const { metadata } = parse(file) as { readonly metadata: { readonly annotations: Readonly<Record<string, string>> } };
    // Nothing routes to the webhook's Service here, and OLM would put the webhooks back.
    await Promise.all(running.map(one => one.stop()));
    await api.delete('/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations');
    for (const example of JSON.parse(metadata.annotations['alm-examples'] ?? '[]') as readonly Manifest[]) {
      await waitFor(`the example ${example.kind} to be accepted`, async () => {
        const { code, stderr } = await controlPlane.kubectl(['create', '--dry-run=server', '-f', '-'], { input: JSON.stringify(example) });
        return code === 0 ? { done: undefined } : { yet: stderr };
      });
    }
  });
});
