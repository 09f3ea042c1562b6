import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { defaultParts, extraParts, keyOf, manifests, manifestsIn } from '@drydock/cli/install';
import { startControlPlane } from '../control-plane/control-plane.ts';
import type { Api } from '../control-plane/objects/api.ts';
import {
  applyOne,
  create,
  getNode,
  nodePath,
  nodesReady,
} from '../control-plane/objects/cluster.ts';
import { run } from '../control-plane/processes/command.ts';
import type { ControlPlane } from '../control-plane/types.ts';
import { until } from '../control-plane/wait.ts';
import { type OperatorProcess, operatorsOn } from '../operator/harness/harness.ts';
import { Phases } from '../operator/harness/phases.ts';
import { drydock, forbiddenCalls, operatorUsers } from '../operator/harness/shipped.ts';
import { dueNode, plan, untilPlan } from '../operator/plans/plan-work.ts';
import { makeChart } from './chart.ts';
import { helmBuilt } from './helm.ts';
import { keep, keptFile, keptReleases, objectsNow, restore } from './kept.ts';

/**
 * From each kept release to this one and back, with maintenances in every phase, by manifests and
 * by chart.
 */

const root = join(import.meta.dirname, '..', '..');
const home = 'drydock-system';
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const helm = await helmBuilt('4');
const folder = mkdtempSync(join(tmpdir(), 'drydock-upgrade-'));
after(() => rmSync(folder, { recursive: true }));

const settings = {
  HELM_CACHE_HOME: join(folder, 'cache'),
  HELM_CONFIG_HOME: join(folder, 'config'),
  HELM_DATA_HOME: join(folder, 'data'),
};
/**
 * The operator runs as a process here: its Deployment gets no node, and no webhook stands in the
 * way.
 */
const asProcess = [
  '--namespace',
  home,
  '--set',
  'webhook.enabled=false',
  '--set',
  'nodeSelector.wanted=nowhere',
];

const chart = helm.kind === 'ready' ? await makeChart(folder) : '';

type Way = {
  readonly begin: (version: string) => Promise<unknown>;
  /** With the rights to carry out plans, or without. */
  readonly upgrade: (plans?: 'plans') => Promise<unknown>;
  readonly goBack: (version: string) => Promise<unknown>;
};

const wayNames = [
  'manifests',
  'chart',
  'chart with the values of before',
  'chart with the values of before on the new defaults',
] as const;

function waysOf({
  api,
  kubeconfig,
}: ControlPlane): Readonly<Record<(typeof wayNames)[number], Way>> {
  const applyKept = async (kept: string): Promise<void> => {
    const all = manifestsIn(readFileSync(keptFile(kept, 'manifests.yaml'), 'utf8'));
    const besides = ['Deployment', 'ValidatingWebhookConfiguration'];
    for (const manifest of all.filter(({ kind }) => !besides.includes(kind)))
      await applyOne(api, manifest, 'drydock');
  };
  const install = async (plans?: 'plans'): Promise<void> => {
    const parts = plans === undefined ? [] : ['--with', plans];
    const args = [
      'install',
      '--apply',
      '--force-conflicts',
      '--without',
      'operator',
      'webhook',
      ...parts,
      '--kubeconfig',
      kubeconfig,
    ];
    const { code, stdout, stderr } = await drydock(args);
    assert.equal(code, 0, stdout + stderr);
  };
  const charted = async (...args: readonly string[]): Promise<void> => {
    const program = helm.kind === 'ready' ? join(helm.folder, 'helm') : '';
    const { code, stderr } = await run(program, args, {
      environment: { ...settings, KUBECONFIG: kubeconfig },
    });
    assert.equal(code, 0, `helm ${args.join(' ')}: ${stderr}`);
  };
  const byChart = (...values: readonly string[]): Way => ({
    begin: kept =>
      charted(
        'install',
        'drydock',
        keptFile(kept, 'chart.tgz'),
        '--create-namespace',
        ...asProcess,
      ),
    upgrade: plans => {
      const parts = plans === undefined ? [] : ['--set', 'plans.enabled=true'];
      return charted(
        'upgrade',
        'drydock',
        chart,
        '--namespace',
        home,
        ...values,
        ...parts,
        '--force-conflicts',
      );
    },
    goBack: () => charted('rollback', 'drydock', '1', '--namespace', home, '--force-conflicts'),
  });
  return {
    manifests: { begin: applyKept, upgrade: install, goBack: applyKept },
    chart: byChart(...asProcess),
    'chart with the values of before': byChart('--reuse-values'),
    'chart with the values of before on the new defaults': byChart('--reset-then-reuse-values'),
  };
}

/** A cluster of its own for each way: every one begins with nothing. */
async function clusterFor(): Promise<ControlPlane | string> {
  if (helm.kind === 'left-out') return helm.why;
  const started = await startControlPlane({ audit: true, users: operatorUsers });
  if (started.kind === 'left-out') return `control plane left out: ${started.why}`;
  if (!started.external) return started;
  await started.stop();
  return 'it installs itself: it needs a control plane of its own';
}

function served(api: Api): Promise<void> {
  return until('the kinds to be served', async () => {
    const paths = [
      'drydock.dev/v1alpha1/maintenances',
      'nodemaintenance.medik8s.io/v1beta1/nodemaintenances',
    ];
    return (await Promise.all(paths.map(path => api.call('GET', `/apis/${path}`)))).every(
      ({ status }) => status === 200,
    );
  });
}

/** No operator has written a held node since the mark: none was without its hold. */
async function areHeldSince(
  { audit }: ControlPlane,
  mark: number,
  held: Phases['held'],
): Promise<void> {
  const writes = (await audit.since(mark)).filter(
    ({ user, resource, subresource, name, verb }) =>
      user in operatorUsers &&
      resource === 'nodes' &&
      subresource === '' &&
      held.has(name) &&
      ['patch', 'update'].includes(verb),
  );
  assert.deepEqual(
    writes.map(({ verb, name }) => `${verb} ${name}`),
    [],
  );
}

/** With DRYDOCK_TEST_UPDATE=1 this release is kept first. */
async function keepThis(controlPlane: ControlPlane): Promise<void> {
  await waysOf(controlPlane).manifests.upgrade();
  await served(controlPlane.api);
  const phases = new Phases(controlPlane.api);
  await phases.makeSurroundings();
  const operator = await operatorsOn(controlPlane)();
  await phases.makeMaintenances();
  await phases.untilReached();
  const objects = await objectsNow(controlPlane.api, phases.nodes);
  await operator.running.stop();
  keep(version, {
    manifests: (await drydock(['install'])).stdout,
    chart: readFileSync(chart),
    objects,
  });
}

if (process.env['DRYDOCK_TEST_UPDATE'] === '1') {
  const controlPlane = await clusterFor();
  if (typeof controlPlane === 'string') throw new Error(controlPlane);
  try {
    await keepThis(controlPlane);
  } finally {
    await controlPlane.stop();
  }
}

// Started before the first suite is declared: what ends with the tests would else end with the
// first of them, while the next cluster comes up.
const runs: (readonly [
  kept: string,
  name: (typeof wayNames)[number],
  started: Awaited<ReturnType<typeof clusterFor>>,
])[] = [];
for (const kept of keptReleases())
  for (const name of wayNames) runs.push([kept, name, await clusterFor()]);

test('the names of all that a kept release has installed are known, or a later one would not recognize it as its own', () => {
  const parts = new Set([...defaultParts, ...extraParts]);
  const known = new Set(manifests({ parts, groups: [], namespace: home }).map(keyOf));
  for (const kept of keptReleases()) {
    const all = manifestsIn(readFileSync(keptFile(kept, 'manifests.yaml'), 'utf8')).map(keyOf);
    assert.ok(all.length > 40, kept);
    assert.deepEqual(
      all.filter(key => !known.has(key)),
      [],
      kept,
    );
  }
});

for (const [kept, name, started] of runs) {
  const skip = typeof started === 'string' && started;
  describe(`${kept} and this release, by ${name}`, { skip, timeout: 180_000 }, () => {
    const controlPlane = started as ControlPlane;
    const { api } = controlPlane;
    const way = waysOf(controlPlane)[name];
    const startOperator = operatorsOn(controlPlane);
    let operator: OperatorProcess;
    after(() => controlPlane.stop());

    test('an upgrade goes on where the older one was', async () => {
      await way.begin(kept);
      await served(api);
      const phases = new Phases(api);
      await phases.makeSurroundings();
      await restore(api, kept);
      const mark = controlPlane.audit.mark();
      await way.upgrade();
      operator = await startOperator();
      await phases.untilReached();
      await areHeldSince(controlPlane, mark, phases.held);
      await phases.end();
    });

    test('on the way back nothing is lost', async () => {
      const phases = new Phases(api, 'back');
      await phases.makeSurroundings();
      await phases.makeMaintenances();
      await phases.untilReached();
      const before = await objectsNow(api, phases.nodes);
      await operator.running.stop();
      const mark = controlPlane.audit.mark();
      await way.goBack(kept);
      operator = await startOperator();
      await phases.untilReached();
      await areHeldSince(controlPlane, mark, phases.held);
      const { maintenances } = await objectsNow(api, phases.nodes);
      const asked = (all: typeof maintenances): readonly unknown[] =>
        all.map(({ metadata, ...rest }) => [metadata.name, rest['spec']]);
      assert.deepEqual(asked(maintenances), asked(before.maintenances));
      await phases.end();
      await operator.running.stop();
      assert.deepEqual(
        await forbiddenCalls(controlPlane),
        [],
        'both allow what the operator asks for',
      );
    });

    test('a plan that is at work keeps its node on the way back, and goes on to its end when it is upgraded again', async () => {
      await way.upgrade('plans');
      operator = await startOperator();
      const names = ['plan-1', 'plan-2'];
      await create(api, ...names.map(node => dueNode(node, { labels: { group: 'upgraded' } })));
      await nodesReady(api, names);
      const patched = "'patched' in node.metadata.labels";
      const external = { finished: { expression: patched }, timeoutSeconds: 86_400 };
      await create(
        api,
        plan('upgraded', 'upgraded', { due: { expression: `!(${patched})` }, work: { external } }),
      );
      const begun = await untilPlan(
        api,
        'upgraded',
        'at work',
        ({ inFlight }) => inFlight?.[0]?.state === 'Working',
      );
      const [working] = begun.inFlight ?? [];
      assert.ok(working);
      await operator.running.stop();
      const mark = controlPlane.audit.mark();
      await way.goBack(kept);
      operator = await startOperator();
      await new Promise(resolve => setTimeout(resolve, 5000));
      assert.equal((await getNode(api, working.node)).spec.unschedulable, true, 'it is held');
      const { inFlight } = await untilPlan(api, 'upgraded', 'there', () => true);
      assert.deepEqual(
        inFlight?.map(({ node, state }) => [node, state]),
        [[working.node, 'Working']],
      );
      await operator.running.stop();
      await way.upgrade('plans');
      operator = await startOperator();
      await areHeldSince(controlPlane, mark, new Map([[working.node, []]]));
      for (const node of names)
        await api.patch(nodePath(node), { metadata: { labels: { patched: 'yes' } } });
      const { nodes } = await untilPlan(
        api,
        'upgraded',
        'complete',
        ({ phase }) => phase === 'Complete',
      );
      assert.equal(nodes?.failed ?? 0, 0);
      for (const node of names)
        assert.equal(
          (await getNode(api, node)).spec.unschedulable ?? false,
          false,
          `${node} is given back`,
        );
      await operator.running.stop();
    });
  });
}
