import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Manifest, manifestsIn } from '@drydock/cli/install';
import { stringify } from 'yaml';
import { startControlPlane } from '../control-plane/control-plane.ts';
import { create, nodesReady } from '../control-plane/objects/cluster.ts';
import { node } from '../control-plane/objects/manifests.ts';
import { type Outcome, run } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { drydock } from '../operator/harness/shipped.ts';
import { helmBuilt } from './helm.ts';

/**
 * The chart, by Helm itself: it renders what drydock install prints, and installs, upgrades and
 * goes on a real control plane.
 */

const root = join(import.meta.dirname, '..', '..');
const released = join(root, 'dist', 'release');
const folder = mkdtempSync(join(tmpdir(), 'drydock-chart-'));
const home = 'drydock-system';

const helms = await Promise.all(
  (['3', '4'] as const).map(async major => ({ major, built: await helmBuilt(major) })),
);
const [first] = helms;
const skip = first?.built.kind === 'ready' ? false : (first?.built.why ?? '');
let chart = '';

before(async () => {
  const { code, stderr } = await run(process.execPath, ['tools/release.ts', '--only', 'chart'], {
    cwd: root,
  });
  assert.deepEqual([code, stderr], [0, '']);
  chart = join(
    released,
    readdirSync(released).find(name => name.startsWith('drydock-chart-')) ?? '',
  );
});
after(() => rmSync(folder, { recursive: true }));

type Values = Readonly<Record<string, unknown>>;

const settings = {
  HELM_CACHE_HOME: join(folder, 'cache'),
  HELM_CONFIG_HOME: join(folder, 'config'),
  HELM_DATA_HOME: join(folder, 'data'),
};

function helmOf(major: '3' | '4') {
  return (
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Outcome> => {
    const found = helms.find(one => one.major === major);
    const program = found?.built.kind === 'ready' ? join(found.built.folder, 'helm') : '';
    return run(program, args, { environment: { ...settings, ...environment } });
  };
}

let files = 0;
function valuesFile(values: Values): string {
  files += 1;
  const file = join(folder, `values-${files}.yaml`);
  writeFileSync(file, stringify(values));
  return file;
}

/** Settings that are left empty in a chart, and fields that only a chart writes. */
function plain(manifest: Manifest): unknown {
  return JSON.parse(
    JSON.stringify(manifest, (key, value: unknown) => {
      if (['imagePullSecrets'].includes(key) && Object.keys(value as object).length === 0)
        return undefined;
      if (key !== 'annotations') return value;
      const { 'helm.sh/resource-policy': _kept, ...rest } = value as Readonly<
        Record<string, string>
      >;
      return Object.keys(rest).length === 0 ? undefined : rest;
    }),
  );
}

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
}

/** The namespace of a release is made by Helm, without labels. */
function byKey(all: readonly Manifest[], namespace: string): ReadonlyMap<string, unknown> {
  return new Map(
    all
      .filter(one => one.kind !== 'Namespace' || one.metadata.name !== namespace)
      .map(one => [keyOf(one), plain(one)]),
  );
}

async function rendered(
  major: '3' | '4',
  values: Values,
  kubernetes = '1.37.2',
  namespace = home,
): Promise<readonly Manifest[]> {
  const args = [
    'template',
    'drydock',
    chart,
    '--namespace',
    namespace,
    '--values',
    valuesFile(values),
    '--kube-version',
    kubernetes,
  ];
  const { code, stdout, stderr } = await helmOf(major)(args);
  assert.equal(code, 0, stderr);
  return manifestsIn(stdout).filter(manifest => (manifest as Manifest | null) !== null);
}

const on = { enabled: true };
const off = { enabled: false };

for (const { major, built } of helms) {
  describe(`Helm ${major}`, { skip: built.kind === 'ready' ? false : built.why }, () => {
    test('finds nothing wrong with the chart', async () => {
      const { code, stdout, stderr } = await helmOf(major)(['lint', '--strict', chart]);
      assert.equal(code, 0, stdout + stderr);
    });

    const rows: readonly (readonly [
      what: string,
      values: Values,
      install: readonly string[],
      kubernetes?: string,
    ])[] = [
      ['the defaults', {}, []],
      ['no webhook', { webhook: off }, ['--without', 'webhook']],
      ['cert-manager', { webhook: { certManager: true } }, ['--with', 'cert-manager']],
      [
        'only nodes of the control plane',
        { controlPlane: { only: true } },
        ['--with', 'control-plane'],
      ],
      [
        'everything',
        {
          agent: on,
          monitoring: on,
          machineApi: on,
          virtualMachines: on,
          plans: on,
          apiPriority: on,
          crds: { groups: ['kubevirt.io', 'nodemaintenance.kubevirt.io'] },
        },
        ['agent', 'monitoring', 'machine-api', 'virtual-machines', 'plans', 'api-priority']
          .flatMap(part => ['--with', part])
          .concat('--kind', 'kubevirt.io', '--kind', 'nodemaintenance.kubevirt.io'),
      ],
      [
        'image and replicas',
        { replicas: 3, image: { repository: 'example.test/drydock', tag: '7' } },
        ['--replicas', '3', '--image', 'example.test/drydock:7'],
      ],
      [
        'a digest',
        { image: { repository: 'example.test/drydock', digest: `sha256:${'0'.repeat(64)}` } },
        ['--image', `example.test/drydock@sha256:${'0'.repeat(64)}`],
      ],
      ['an older Kubernetes', {}, ['--kube-version', '1.30'], '1.30.14'],
      ['no kinds', { crds: off }, ['--without', 'crds']],
      [
        'shared namespaces that are there',
        { sharedNamespaces: off },
        ['--without', 'shared-namespaces'],
      ],
      ['no policies', { admissionPolicies: off }, ['--without', 'admission-policies']],
    ];
    for (const [what, values, install, kubernetes] of rows)
      test(`renders what drydock install prints: ${what}`, async () => {
        const printed = await drydock(['install', '--namespace', home, ...install]);
        assert.equal(printed.code, 0, printed.stderr);
        const [ours, theirs] = [
          byKey(await rendered(major, values, kubernetes), home),
          byKey(manifestsIn(printed.stdout), home),
        ];
        assert.deepEqual([...ours.keys()].sort(), [...theirs.keys()].sort());
        for (const [key, object] of ours) assert.deepEqual(object, theirs.get(key), key);
      });

    test('settings that are not there at all have their defaults, as after an upgrade with the values of an older release', async () => {
      const none = Object.fromEntries(
        [
          'plans',
          'agent',
          'apiPriority',
          'admissionPolicies',
          'resources',
          'replicas',
          'extraEnv',
        ].map(name => [name, null]),
      );
      const [without, usual] = [
        await rendered(major, { ...none, image: { pullSecrets: null } }),
        await rendered(major, {}),
      ];
      assert.deepEqual(without, usual);
      const limits = { limits: { memory: null } };
      const operator = (await rendered(major, { resources: limits })).find(
        ({ kind }) => kind === 'Deployment',
      );
      assert.doesNotMatch(
        JSON.stringify(operator),
        /"limits":\{"memory"/,
        'what somebody takes away stays away',
      );
    });

    test('a namespace of digits is a text', async () => {
      const all = await rendered(major, { plans: on, agent: on, monitoring: on }, '1.37.2', '2024');
      const printed = await drydock([
        'install',
        '--namespace',
        '2024',
        ...['plans', 'agent', 'monitoring'].flatMap(part => ['--with', part]),
      ]);
      const [ours, theirs] = [byKey(all, '2024'), byKey(manifestsIn(printed.stdout), '2024')];
      for (const [key, object] of theirs) assert.deepEqual(ours.get(key), object, key);
    });

    test('puts the operator where the affinity says, and tolerates more than it does by itself', async () => {
      type Placed = { readonly affinity: object; readonly tolerations: readonly object[] };
      const placed = async (values: Values): Promise<Placed> => {
        const operator = (await rendered(major, values)).find(({ kind }) => kind === 'Deployment');
        return (
          operator as unknown as { readonly spec: { readonly template: { readonly spec: Placed } } }
        ).spec.template.spec;
      };
      const usual = await placed({});
      const affinity = {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname' },
          ],
        },
      };
      const toleration = {
        key: 'dedicated',
        operator: 'Equal',
        value: 'ops',
        effect: 'NoSchedule',
      };
      const own = await placed({ affinity, tolerations: [toleration] });
      assert.deepEqual(own.affinity, affinity);
      assert.deepEqual(own.tolerations, [...usual.tolerations, toleration]);
      assert.ok(usual.tolerations.length > 0 && 'nodeAffinity' in usual.affinity);
    });

    test('listens on the ports that are set, everywhere, and on the network of its node', async () => {
      const all = await rendered(major, {
        ports: { webhook: 10_250, metrics: 9100, health: 9200 },
        hostNetwork: true,
      });
      type Pod = {
        readonly hostNetwork?: boolean;
        readonly dnsPolicy?: string;
        readonly containers: readonly {
          readonly args: readonly string[];
          readonly ports: readonly object[];
        }[];
      };
      const deployment = all.find(({ kind }) => kind === 'Deployment') as unknown as {
        readonly spec: { readonly template: { readonly spec: Pod } };
      };
      const { hostNetwork, dnsPolicy, containers } = deployment.spec.template.spec;
      assert.deepEqual([hostNetwork, dnsPolicy], [true, 'ClusterFirstWithHostNet']);
      for (const arg of [
        '--webhook-port=10250',
        '--metrics-bind-address=:9100',
        '--health-probe-bind-address=:9200',
      ])
        assert.ok(containers[0]?.args.includes(arg), arg);
      assert.deepEqual(containers[0]?.ports, [
        { name: 'webhook', containerPort: 10_250 },
        { name: 'health', containerPort: 9200 },
        { name: 'metrics', containerPort: 9100 },
      ]);
      assert.doesNotMatch(
        JSON.stringify(all.filter(({ kind }) => ['Service', 'NetworkPolicy'].includes(kind))),
        /"(targetPort|port)":(9443|8081)/,
      );
    });

    test('leaves out single objects, adds arguments and variables, and refuses what is no setting or contradicts itself', async () => {
      const proxy = { name: 'NO_PROXY', value: '172.30.0.0/16' };
      const all = await rendered(major, {
        networkPolicy: off,
        podDeletion: off,
        extraArgs: ['--machines-per-set=2'],
        extraEnv: [proxy],
      });
      assert.ok(
        !all.some(({ kind, metadata }) => kind === 'NetworkPolicy' && metadata.name === 'drydock'),
      );
      assert.ok(
        !all.some(
          ({ kind, metadata }) =>
            kind === 'ClusterRoleBinding' && metadata.name === 'drydock-pod-deletion',
        ),
      );
      const operator = all.find(({ kind }) => kind === 'Deployment');
      assert.match(JSON.stringify(operator), /"--webhook-port=9443","--machines-per-set=2"\]/);
      assert.doesNotMatch(JSON.stringify(operator), /hostNetwork|dnsPolicy/);
      assert.match(
        JSON.stringify(operator),
        /"spec.nodeName"}}},{"name":"NO_PROXY","value":"172.30.0.0\/16"}\]/,
      );
      for (const [values, expected] of [
        [{ extraEnv: ['A=b'] }, /extraEnv/],
        [{ replica: 3 }, /replica/],
        [{ replicas: '3' }, /replicas/],
        [{ image: { digest: 'latest' } }, /digest/],
        [{ webhook: { enabled: false, certManager: true } }, /set webhook\.enabled as well/],
        [{ tolerations: {} }, /tolerations/],
        [
          { extraArgs: ['--webhook-port=10250'] },
          /extraArgs: --webhook-port=10250 is set by the chart: use its settings \(ports, webhook\)/,
        ],
        [{ extraArgs: ['--metrics-secure'] }, /extraArgs: --metrics-secure is set by the chart/],
        [{ ports: { webhook: 443 } }, /webhook/],
        [
          { controlPlane: { only: true }, affinity: { nodeAffinity: {} } },
          /set one of controlPlane\.only and affinity/,
        ],
      ] as const) {
        const { code, stderr } = await helmOf(major)([
          'template',
          'drydock',
          chart,
          '--kube-version',
          '1.37.2',
          '--values',
          valuesFile(values),
        ]);
        assert.notEqual(code, 0);
        assert.match(stderr, expected);
      }
    });
  });
}

const started = await startControlPlane({});
const leftOut = started.kind === 'left-out' ? `control plane left out: ${started.why}` : skip;
const external =
  started.kind === 'started' &&
  started.external &&
  'it installs itself: it needs a control plane of its own';
const controlPlane = started as ControlPlane;

describe('on a real control plane', { skip: leftOut || external, timeout: 240_000 }, () => {
  const { api } = controlPlane;
  before(async () => {
    await create(api, node('n1'));
    await nodesReady(api, ['n1']);
  });
  after(() => controlPlane.stop());

  const replicas = async (): Promise<number> =>
    (
      await api.get<{ readonly spec: { readonly replicas: number } }>(
        `/apis/apps/v1/namespaces/${home}/deployments/drydock`,
      )
    ).spec.replicas;
  const status = async (path: string): Promise<number> => (await api.call('GET', path)).status;

  test('what others have made and use as well is there already', async () => {
    const shared = 'nodemaintenances.nodemaintenance.medik8s.io';
    const [kind] = manifestsIn(
      readFileSync(join(root, 'deploy', 'crds', `${shared}.yaml`), 'utf8'),
    );
    assert.ok(kind);
    await create(api, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'medik8s-leases', labels: { team: 'nodes' } },
    });
    await create(api, { ...kind, metadata: { ...kind.metadata, labels: { by: 'them' } } });
  });
  const marksOfOthers = async (): Promise<readonly unknown[]> =>
    Promise.all(
      [
        '/api/v1/namespaces/medik8s-leases',
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodemaintenances.nodemaintenance.medik8s.io',
      ].map(async path => {
        const { labels, annotations } = (
          await api.get<{
            readonly metadata: { readonly labels?: object; readonly annotations?: object };
          }>(path)
        ).metadata;
        return { labels, annotations };
      }),
    );

  for (const { major, built } of helms) {
    test(`Helm ${major} installs, upgrades, rolls back and uninstalls; kinds and leases stay`, {
      skip: built.kind === 'ready' ? false : built.why,
    }, async () => {
      const environment = { KUBECONFIG: controlPlane.kubeconfig };
      const helm = async (...args: readonly string[]): Promise<string> => {
        const { code, stdout, stderr } = await helmOf(major)(
          [...args, '--namespace', home],
          environment,
        );
        assert.equal(code, 0, `helm ${args.join(' ')}: ${stderr}`);
        return stdout;
      };
      const theirs = await marksOfOthers();
      const notes = await helm('install', 'drydock', chart, '--create-namespace');
      assert.match(notes, /kubectl -n drydock-system rollout status deployment\/drydock/);
      assert.equal(await replicas(), 2);
      const crd =
        '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/maintenances.drydock.dev';
      assert.equal(await status(crd), 200);
      assert.match(
        (await drydock(['check', '--kubeconfig', controlPlane.kubeconfig])).stdout,
        /^ok {4}kinds .*\n(.*\n)*ok {4}rights /m,
      );
      // What somebody has changed of a kind, an upgrade brings back: kinds are upgraded as well.
      const shortNames = async (): Promise<readonly string[] | undefined> =>
        (
          await api.get<{
            readonly spec: { readonly names: { readonly shortNames?: readonly string[] } };
          }>(crd)
        ).spec.names.shortNames;
      const before = await shortNames();
      await api.patch(crd, { spec: { names: { shortNames: ['gone'] } } });
      await helm(
        'upgrade',
        'drydock',
        chart,
        '--set',
        'replicas=3',
        ...(major === '4' ? ['--force-conflicts'] : []),
      );
      assert.equal(await replicas(), 3);
      assert.deepEqual(await shortNames(), before);
      await helm('rollback', 'drydock', '1', ...(major === '4' ? ['--force-conflicts'] : []));
      assert.equal(await replicas(), 2);
      const byOurs = await drydock([
        'uninstall',
        '--apply',
        '--kubeconfig',
        controlPlane.kubeconfig,
      ]);
      assert.equal(byOurs.code, 1);
      assert.match(
        byOurs.stderr,
        /^drydock: Helm has installed it: helm uninstall drydock --namespace drydock-system; then drydock uninstall removes what it leaves$/m,
      );
      await helm('uninstall', 'drydock', '--wait');
      assert.deepEqual(await marksOfOthers(), theirs, 'what others have made is theirs as before');
      assert.equal(await status(`/apis/apps/v1/namespaces/${home}/deployments/drydock`), 404);
      assert.deepEqual(
        [await status(crd), await status('/api/v1/namespaces/medik8s-leases')],
        [200, 200],
      );
      assert.equal(
        await status('/apis/rbac.authorization.k8s.io/v1/clusterroles/drydock-operator'),
        404,
      );

      const connection = ['--kubeconfig', controlPlane.kubeconfig];
      const byCommand = await drydock(['install', '--apply', '--force-conflicts', ...connection]);
      assert.equal(byCommand.code, 0, byCommand.stdout);
      await helm(
        'install',
        'drydock',
        chart,
        '--take-ownership',
        ...(major === '4' ? ['--force-conflicts'] : []),
      );
      await helm('uninstall', 'drydock', '--wait');
      const rest = await drydock(['uninstall', '--apply', ...connection]);
      assert.equal(rest.code, 0, rest.stderr);
      assert.deepEqual(await marksOfOthers(), theirs, 'and again');
    });
  }
});
