import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, describe, test } from 'node:test';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, getNode } from '../control-plane/objects/cluster.ts';
import { run } from '../control-plane/processes/command.ts';
import { freePorts } from '../control-plane/processes/ports.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { operatorsOn } from '../operator/harness/harness.ts';
import {
  faceOf,
  maintenance,
  makeNode,
  seed,
  untilMaintenance,
  untilSeed,
} from '../operator/harness/look.ts';
import { drydock, operatorUsers } from '../operator/harness/shipped.ts';
import { removeWebhook } from '../operator/harness/webhook-address.ts';
import { makeChart } from './chart.ts';
import { everythingIn } from './everything.ts';
import { type HelmMajor, helmBuilt } from './helm.ts';

/**
 * Installed in one way, changed in another, removed in a third, with nodes held all the while:
 * every node is given back as it was, and what is left of all objects of the cluster is what
 * docs/install.md says. OLM is not among them: it runs in the tier `olm`.
 */

const home = 'drydock-system';
const deploy = join(import.meta.dirname, '..', '..', 'deploy');
const helms = { 3: await helmBuilt('3'), 4: await helmBuilt('4') } as const;
const started = await startControlPlane({ users: operatorUsers });
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const skip =
  leftOut ||
  (started.kind === 'started' &&
    started.external &&
    'it installs itself: it needs a control plane of its own') ||
  Object.values(helms).flatMap(built => (built.kind === 'left-out' ? [built.why] : []))[0] ||
  false;
const controlPlane = started as ControlPlane;
const folder = mkdtempSync(join(tmpdir(), 'drydock-matrix-'));
const chart = skip === false ? await makeChart(folder) : '';

/** What an uninstallation documents to leave. */
const others = ['medik8s-leases', 'node-maintenance'];
function isOfShared(name: string): boolean {
  return (
    others.some(one => name === `namespaces /${one}`) ||
    others.some(one =>
      [`serviceaccounts ${one}/default`, `configmaps ${one}/kube-root-ca.crt`].includes(name),
    )
  );
}
const kinds = {
  theirs: [
    'nodemaintenances.nodemaintenance.medik8s.io',
    'machinemaintenances.machinemaintenance.managed.openshift.io',
  ],
  apis: ['v1beta1.nodemaintenance.medik8s.io', 'v1alpha1.machinemaintenance.managed.openshift.io'],
};
function isKind(name: string): boolean {
  return (
    kinds.theirs.some(one => name === `customresourcedefinitions.apiextensions.k8s.io /${one}`) ||
    kinds.apis.some(one => name === `apiservices.apiregistration.k8s.io /${one}`)
  );
}
function isOwnKind(name: string): boolean {
  return (
    /^customresourcedefinitions\.apiextensions\.k8s\.io \/[a-z]+\.drydock\.dev$/.test(name) ||
    name === 'apiservices.apiregistration.k8s.io /v1alpha1.drydock.dev'
  );
}

type Step = () => Promise<void>;

describe('installed, changed and removed', { skip, timeout: 540_000 }, () => {
  const { api } = controlPlane;
  const startOperator = operatorsOn(controlPlane);
  after(async () => {
    rmSync(folder, { recursive: true });
    await controlPlane.stop();
  });

  const say = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await drydock([
      ...args,
      '--kubeconfig',
      controlPlane.kubeconfig,
    ]);
    assert.equal(code, 0, `drydock ${args.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  const refused = async (expected: RegExp, ...args: readonly string[]): Promise<void> => {
    const { code, stdout, stderr } = await drydock([
      ...args,
      '--kubeconfig',
      controlPlane.kubeconfig,
    ]);
    assert.equal(code, 1, `drydock ${args.join(' ')}: ${stdout}${stderr}`);
    assert.match(stderr, expected);
  };
  const helm = async (major: HelmMajor, ...args: readonly string[]): Promise<void> => {
    const built = helms[major];
    const at = (name: string): string => join(folder, major, name);
    const environment = {
      HELM_CACHE_HOME: at('cache'),
      HELM_CONFIG_HOME: at('config'),
      HELM_DATA_HOME: at('data'),
      KUBECONFIG: controlPlane.kubeconfig,
    };
    const program = built.kind === 'ready' ? join(built.folder, 'helm') : '';
    const { code, stderr } = await run(program, [...args, '--namespace', home], { environment });
    assert.equal(code, 0, `helm ${args.join(' ')}: ${stderr}`);
  };
  const force = (major: HelmMajor): readonly string[] =>
    major === '4' ? ['--force-conflicts'] : [];
  /** Of the default base, with these parts, and an image of this tag. */
  const kustomize = async (tag: string, ...parts: readonly string[]): Promise<void> => {
    const overlay = join(folder, 'overlay');
    mkdirSync(overlay, { recursive: true });
    const resources = ['default', ...parts].map(name => relative(overlay, join(deploy, name)));
    const images = [{ name: 'drydock', newName: 'example.test/drydock', newTag: tag }];
    writeFileSync(join(overlay, 'kustomization.yaml'), JSON.stringify({ resources, images }));
    const { code, stderr } = await controlPlane.kubectl([
      'apply',
      '--server-side',
      '--force-conflicts',
      '-k',
      overlay,
    ]);
    assert.equal(code, 0, stderr);
  };
  const withParts = ['--with', 'plans', 'agent', 'api-priority'];
  const partsOn = ['plans', 'agent', 'apiPriority'].flatMap(name => [
    '--set',
    `${name}.enabled=true`,
  ]);

  const installed: Readonly<Record<string, Step>> = {
    'the command': () =>
      say('install', '--apply', '--image', 'example.test/drydock:1', ...withParts).then(
        () => undefined,
      ),
    'Helm 3': () => helm('3', 'install', 'drydock', chart, '--create-namespace', ...partsOn),
    'Helm 4': () => helm('4', 'install', 'drydock', chart, '--create-namespace', ...partsOn),
    kustomize: () => kustomize('1', 'plans', 'agent', 'api-priority'),
  };

  const byCommand =
    (...args: readonly string[]): Step =>
    async () => {
      await say('install', '--apply', '--image', 'example.test/drydock:2', ...args);
    };
  const byHelm =
    (major: HelmMajor, ...args: readonly string[]): Step =>
    () =>
      helm(major, ...args, ...force(major));
  const takenFromHelm: Step = async () => {
    const before = await everythingIn(api);
    await refused(
      /^drydock: Helm has installed it: helm upgrade drydock CHART --namespace drydock-system changes it; --take-ownership /,
      'install',
      '--apply',
    );
    assert.deepEqual(await everythingIn(api), before, 'nothing is half taken');
    const taken = await say(
      'install',
      '--apply',
      '--take-ownership',
      '--image',
      'example.test/drydock:2',
    );
    assert.match(taken, /^secret\/sh\.helm\.release\.v1\.drydock\.v1 deleted$/m);
    assert.match(taken, /^release drydock of Helm is taken over: /m);
  };

  const uninstalled =
    (...args: readonly string[]): Step =>
    async () => {
      assert.match(
        await say('uninstall', '--release-nodes', '--apply', '--timeout', '1m', ...args),
        /^every node is released$/m,
      );
    };
  const uninstalledByHelm =
    (major: HelmMajor, ...args: readonly string[]): Step =>
    async () => {
      await refused(
        /^drydock: Helm has installed it: helm uninstall drydock --namespace drydock-system; then drydock uninstall removes what it leaves$/m,
        'uninstall',
        '--release-nodes',
        '--apply',
        '--timeout',
        '1m',
      );
      await helm(major, 'uninstall', 'drydock', '--wait');
      await say('uninstall', '--apply', ...args);
    };
  /**
   * Helm makes the namespace of a release without labels: nobody can tell it from one that was
   * there before, and it stays.
   */
  const namespaceOfHelm: Step = async () => {
    const inNamespace = [...(await everythingIn(api))].filter(name => name.includes(` ${home}/`));
    assert.deepEqual(inNamespace.toSorted(), [
      `configmaps ${home}/kube-root-ca.crt`,
      `leases.coordination.k8s.io ${home}/135b1886.medik8s.io`,
      `serviceaccounts ${home}/default`,
    ]);
    await api.delete(`/api/v1/namespaces/${home}`);
  };

  type Row = readonly [from: string, change: string, to: Step, removal: string, removed: Step];
  // Helm first: what it leaves it finds again, and after the others it has to be told to take
  // ownership of the kinds.
  const rows: readonly Row[] = [
    [
      'Helm 3',
      'a newer chart',
      byHelm('3', 'upgrade', 'drydock', chart, '--set', 'image.tag=v2'),
      'helm uninstall',
      uninstalledByHelm('3'),
    ],
    [
      'Helm 4',
      'a newer chart',
      byHelm('4', 'upgrade', 'drydock', chart, '--set', 'image.tag=v2'),
      'helm uninstall',
      uninstalledByHelm('4'),
    ],
    [
      'Helm 4',
      'parts switched off',
      byHelm(
        '4',
        'upgrade',
        'drydock',
        chart,
        '--set',
        'plans.enabled=false',
        '--set',
        'webhook.enabled=false',
      ),
      'helm uninstall and --with-kinds',
      uninstalledByHelm('4', '--with-kinds'),
    ],
    [
      'Helm 3',
      'the command taking ownership',
      takenFromHelm,
      '--with-kinds',
      uninstalled('--with-kinds'),
    ],
    ['Helm 4', 'the command taking ownership', takenFromHelm, 'drydock uninstall', uninstalled()],
    ['the command', 'a newer command', byCommand(), 'drydock uninstall', uninstalled()],
    [
      'the command',
      'parts left out',
      byCommand('--without', 'plans', 'agent', 'webhook'),
      '--with-kinds',
      uninstalled('--with-kinds'),
    ],
    [
      'the command',
      'Helm 3 taking ownership',
      byHelm('3', 'install', 'drydock', chart, '--take-ownership'),
      'helm uninstall',
      uninstalledByHelm('3'),
    ],
    [
      'the command',
      'Helm 4 taking ownership',
      byHelm('4', 'install', 'drydock', chart, '--take-ownership'),
      'helm uninstall and --with-kinds',
      uninstalledByHelm('4', '--with-kinds'),
    ],
    ['the command', 'kustomize', () => kustomize('2'), 'drydock uninstall', uninstalled()],
    [
      'kustomize',
      'a newer base',
      () => kustomize('2', 'plans', 'agent', 'api-priority'),
      'drydock uninstall',
      uninstalled(),
    ],
    [
      'kustomize',
      'a base with fewer parts',
      () => kustomize('1'),
      '--with-kinds',
      uninstalled('--with-kinds'),
    ],
    [
      'kustomize',
      'the command',
      byCommand('--force-conflicts', '--without', 'agent'),
      'drydock uninstall',
      uninstalled(),
    ],
  ];

  test('nodes that are as their admins want them', async () => {
    await makeNode(api, 'n1', {
      labels: { pool: 'blue' },
      taints: [{ key: 'dedicated', value: 'db', effect: 'NoExecute' }],
    });
    await makeNode(api, 'n2', {
      unschedulable: true,
      annotations: { 'example.test/cordoned-by': 'bert' },
    });
    await makeNode(api, 'n3');
  });

  for (const [from, change, to, removal, removed] of rows)
    test(`by ${from}, then ${change}, removed by ${removal}`, async () => {
      const install = installed[from];
      assert.ok(install);
      const nodes = ['n1', 'n2'];
      /** What Drydock says of the node in conditions comes after the marks. */
      const marksNow = async (): Promise<readonly object[]> =>
        (await facesNow()).map(face => ({ ...face, conditions: [] }));
      const facesNow = (): Promise<readonly object[]> =>
        Promise.all(nodes.map(async name => faceOf(await getNode(api, name))));
      const [before, faces] = [await everythingIn(api), await facesNow()];
      await install();
      await removeWebhook(api);
      const [port = 0] = await freePorts(1);
      const flags = [
        '--leader-elect',
        `--leader-election-namespace=${home}`,
        `--webhook-port=${port}`,
      ];
      const operator = await startOperator({ flags });
      await until(
        'its certificate to be made',
        async () =>
          (await api.call('GET', `/api/v1/namespaces/${home}/secrets/drydock-webhook-cert`))
            .status === 200,
      );
      await create(api, maintenance('n1'), seed('n2'));
      await untilMaintenance(api, 'n1', 'Drained');
      await untilSeed(api, 'n2', 'Succeeded');
      const held = await marksNow();
      await to();
      assert.deepEqual(await marksNow(), held, 'nodes stay held');
      await removed();
      assert.deepEqual(await facesNow(), faces, 'nodes are given back');
      await operator.running.stop();
      if (from.startsWith('Helm')) await namespaceOfHelm();
      const isDocumented = (name: string): boolean =>
        isOfShared(name) || isKind(name) || (!removal.includes('--with-kinds') && isOwnKind(name));
      await waitFor(
        'all to be gone but what is documented to stay',
        async () => {
          const left = [...(await everythingIn(api))].filter(
            name => !before.has(name) && !isDocumented(name),
          );
          return left.length === 0 ? { done: undefined } : { yet: left.join(', ') };
        },
        { deadlineMs: 60_000, everyMs: 500 },
      );
      const now = await everythingIn(api);
      assert.deepEqual(
        [...before].filter(name => !now.has(name) && !isOwnKind(name)),
        [],
        'nothing of others has gone',
      );
      for (const name of others) assert.ok(now.has(`namespaces /${name}`), name);
    });
});
