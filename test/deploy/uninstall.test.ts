import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, getNode, nodesReady } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import type { Outcome } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import { maintenance, maintenancePath, untilMaintenance } from '../operator/harness/look.ts';
import { drydock, operatorUsers } from '../operator/harness/shipped.ts';
import { removeWebhook } from '../operator/harness/webhook-address.ts';

/**
 * drydock uninstall, after each way of installing: what an installation has made goes, and nothing
 * else.
 */

const started = await startControlPlane({ audit: true, users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own');
const controlPlane = started as ControlPlane;
const deploy = join(import.meta.dirname, '..', '..', 'deploy');
const home = 'drydock-system';

type Item = {
  readonly kind?: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly uid: string };
};

/** Of every kind that an installation makes objects of. */
const collections = [
  '/api/v1/namespaces',
  '/api/v1/serviceaccounts',
  '/api/v1/services',
  '/api/v1/secrets',
  '/api/v1/resourcequotas',
  '/apis/apps/v1/deployments',
  '/apis/apps/v1/daemonsets',
  '/apis/policy/v1/poddisruptionbudgets',
  '/apis/networking.k8s.io/v1/networkpolicies',
  '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  ...['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map(
    name => `/apis/rbac.authorization.k8s.io/v1/${name}`,
  ),
  ...[
    'validatingwebhookconfigurations',
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
  ].map(name => `/apis/admissionregistration.k8s.io/v1/${name}`),
];

describe('drydock uninstall', { skip, timeout: 300_000 }, () => {
  const { api } = controlPlane;
  before(async () => {
    await create(api, node('n1'));
    await nodesReady(api, ['n1']);
  });
  after(() => controlPlane.stop());

  const say = (...args: readonly string[]): Promise<Outcome> =>
    drydock([...args, '--kubeconfig', controlPlane.kubeconfig]);
  const uninstall = (...args: readonly string[]): Promise<Outcome> => say('uninstall', ...args);
  const everything = async (): Promise<ReadonlySet<string>> => {
    const lists = await Promise.all(
      collections.map(async path =>
        (await api.get<{ readonly items: readonly Item[] }>(path)).items.map(
          ({ metadata }) =>
            `${path.split('/').at(-1)} ${metadata.namespace ?? ''}/${metadata.name}`,
        ),
      ),
    );
    return new Set(lists.flat().filter(name => !/serviceaccounts .*\/default$/.test(name)));
  };
  const gone = async (before: ReadonlySet<string>): Promise<readonly string[]> => {
    const now = await everything();
    return [...before].filter(name => !now.has(name));
  };
  const status = async (path: string): Promise<number> => (await api.call('GET', path)).status;
  const shared = ['medik8s-leases', 'node-maintenance'];

  const applied = async (args: readonly string[], input?: string): Promise<void> => {
    // The kinds stay from way to way, and the command has left out of them what an older API server
    // does not know.
    const flags = ['apply', '--server-side', '--force-conflicts'];
    const { code, stderr } = await controlPlane.kubectl(
      [...flags, ...args],
      input === undefined ? {} : { input },
    );
    assert.equal(code, 0, stderr);
  };
  const extras = ['machine-api', 'virtual-machines', 'plans', 'agent', 'api-priority'];
  const overlay = (): string => {
    const folder = join(controlPlane.folder, 'overlay');
    mkdirSync(folder, { recursive: true });
    const resources = ['default', ...extras].map(name => relative(folder, join(deploy, name)));
    writeFileSync(join(folder, 'kustomization.yaml'), JSON.stringify({ resources }));
    return folder;
  };
  const ways: Readonly<Record<string, () => Promise<void>>> = {
    'the command': async () => {
      const { code, stderr } = await say('install', '--apply', '--with', ...extras);
      assert.equal(code, 0, stderr);
    },
    'the command and kubectl': async () => {
      const file = join(controlPlane.folder, 'printed.yaml');
      writeFileSync(file, (await drydock(['install', '--with', ...extras])).stdout);
      await applied(['-f', file]);
    },
    kustomize: () => applied(['-k', overlay()]),
  };
  for (const [way, install] of Object.entries(ways))
    test(`after ${way}: all of it is shown first, then goes; shared namespaces and all kinds stay, and are named`, async () => {
      const before = await everything();
      await install();
      const made = [...(await everything())].filter(name => !before.has(name));
      assert.ok(made.length > 50, made.join());

      const dry = await uninstall();
      assert.equal(dry.code, 0, dry.stdout + dry.stderr);
      assert.match(dry.stderr, /^drydock: nothing has been changed; --apply does it$/m);
      assert.deepEqual(
        [...(await everything())].filter(name => !before.has(name)),
        made,
        'nothing has been changed',
      );

      const done = await uninstall('--apply');
      assert.equal(done.code, 0, done.stdout + done.stderr);
      assert.deepEqual(
        done.stdout.split('\n').filter(line => line.endsWith(' deleted')),
        dry.stdout
          .split('\n')
          .flatMap(line =>
            line.endsWith(' deleted (server dry run)')
              ? [line.replace(' (server dry run)', '')]
              : [],
          ),
        'exactly what was shown',
      );
      assert.match(
        done.stdout,
        /^validatingwebhookconfiguration\.admissionregistration\.k8s\.io\/drydock deleted\n/,
      );
      await until(
        'the namespaces to be gone',
        async () =>
          (await status(`/api/v1/namespaces/${home}`)) === 404 &&
          (await status('/api/v1/namespaces/drydock-plans')) === 404 &&
          (await status('/api/v1/namespaces/drydock-agent')) === 404,
      );
      const left = [...(await everything())].filter(name => !before.has(name)).toSorted();
      assert.deepEqual(
        left,
        before.has('namespaces /medik8s-leases') ? [] : shared.map(name => `namespaces /${name}`),
      );
      assert.deepEqual(await gone(before), []);
      for (const name of [
        'maintenances.drydock.dev',
        'nodemaintenances.nodemaintenance.medik8s.io',
      ])
        assert.equal(
          await status(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`),
          200,
        );
      for (const line of [
        /^left: the kinds of drydock\.dev with 0 objects; --with-kinds deletes both$/m,
        /^left: customresourcedefinition\.apiextensions\.k8s\.io\/nodemaintenances\.nodemaintenance\.medik8s\.io with 0 objects: other operators serve it as well$/m,
        /^left: namespace\/medik8s-leases: other operators use it as well$/m,
      ])
        assert.match(done.stdout, line);
      const again = await uninstall('--apply');
      assert.deepEqual(
        [again.code, again.stdout],
        [0, `nothing of an installation is in namespace ${home}\n`],
      );
    });

  test('refuses while a node is held; releases it when told to, before anything else goes; or leaves it held', async () => {
    await ways['the command']?.();
    await removeWebhook(api);
    const startOperator = operatorsOn(controlPlane);
    const operator = await startOperator();
    await create(api, maintenance('n1', { level: 'Cordon' }));
    await untilMaintenance(api, 'n1', 'Cordoned');
    const full = await everything();
    for (const args of [[], ['--apply']]) {
      const refused = await uninstall(...args);
      assert.equal(refused.code, 1);
      assert.match(
        refused.stderr,
        /nobody gives these back: node\/n1 held by Maintenance n1; --release-nodes ends the maintenances first, --keep-held /,
      );
    }
    assert.deepEqual(await gone(full), [], 'nothing has gone');
    assert.match(
      (await uninstall('--release-nodes')).stdout,
      /^node\/n1 held by Maintenance n1: would be released first \(dry run\)$/m,
    );
    assert.equal(await status(maintenancePath('n1')), 200);

    const kept = await uninstall('--keep-held');
    assert.equal(kept.code, 0, kept.stderr);
    assert.match(
      kept.stdout,
      /^left: node\/n1 held by Maintenance n1, until an operator is installed again$/m,
    );
    await create(api, {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MachineEventSource',
      metadata: { name: 'cloud' },
      spec: { aws: {} },
    });
    const machine =
      '/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances';
    await api.post(machine, {
      apiVersion: 'machinemaintenance.managed.openshift.io/v1alpha1',
      kind: 'MachineMaintenance',
      metadata: { name: 'm1' },
      spec: {
        maintenancescheduled: false,
        machineid: 'absent',
        machinelink: 'absent',
        machineRef: { kind: 'Node', name: 'absent' },
        strategy: 'Drain',
        events: [{ provider: 'me', id: '1', kind: 'reboot', state: 'Active', source: 'me' }],
      },
    });
    const taking = await uninstall('--release-nodes', '--apply');
    assert.equal(taking.code, 1);
    assert.match(
      taking.stderr,
      /these would take nodes again: MachineEventSource cloud \(kubectl delete machineeventsource cloud\)/,
    );
    await api.delete('/apis/drydock.dev/v1alpha1/machineeventsources/cloud');
    await until('the operator to have claimed it', async () =>
      (await uninstall()).stderr.includes(
        'MachineMaintenance drydock-system/m1, which the operator has to let go',
      ),
    );
    assert.deepEqual(await gone(full), [], 'nothing has gone');
    const released = await uninstall(
      '--release-nodes',
      '--apply',
      '--with-kinds',
      '--timeout',
      '30s',
    );
    assert.equal(released.code, 0, released.stdout + released.stderr);
    assert.match(
      released.stdout,
      /^machinemaintenance\.machinemaintenance\.managed\.openshift\.io\/m1 deleted\nmaintenance\.drydock\.dev\/n1 deleted\nevery node is released\n/,
    );
    assert.equal((await getNode(api, 'n1')).spec.unschedulable ?? false, false);
    await until(
      'the kinds to be gone',
      async () =>
        (await status(
          '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/maintenances.drydock.dev',
        )) === 404,
    );
    assert.equal(
      await status(
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.nodemaintenance.medik8s.io',
      ),
      200,
    );
    await operator.running.stop();
  });

  test("leaves others' namespaces and what is theirs in ours; names the installation that there is; wrong calls end with 2", async () => {
    await create(api, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'maint', labels: { team: 'nodes' } },
    });
    await until(
      'the namespaces to be gone',
      async () => (await status('/api/v1/namespaces/drydock-plans')) === 404,
    );
    const installed = await say('install', '--apply', '--namespace', 'maint', '--with', 'plans');
    assert.equal(installed.code, 0, installed.stdout + installed.stderr);
    await create(api, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'theirs', namespace: 'drydock-plans' },
    });
    const wrong = await uninstall('--apply');
    assert.equal(wrong.code, 1);
    assert.equal(
      wrong.stderr,
      'drydock: nothing of an installation is in namespace drydock-system; there is one in maint: --namespace maint\n',
    );
    const done = await uninstall('--apply', '--namespace', 'maint');
    assert.equal(done.code, 0, done.stdout + done.stderr);
    assert.match(
      done.stdout,
      /^namespace\/drydock-plans left alone: it also has ConfigMap theirs; kubectl delete namespace drydock-plans removes it/m,
    );
    assert.match(
      done.stdout,
      /^left: namespace\/maint: it was there before, or helm install --create-namespace has made it$/m,
    );
    assert.equal(await status('/api/v1/namespaces/maint'), 200);
    for (const [args, text] of [
      [['--release-nodes', '--keep-held'], /cannot be combined/],
      [['--with-kinds', '--keep-held'], /cannot be combined/],
      [['--timeout', 'soon'], /invalid value "soon" for --timeout/],
    ] as const) {
      const { code, stderr } = await uninstall(...args);
      assert.equal(code, 2);
      assert.match(stderr, text);
    }
  });
});
