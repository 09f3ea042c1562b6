import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { budgetAllows, create, getNode, podsOn } from '../../control-plane/objects/cluster.ts';
import {
  budget,
  daemonSet,
  deployment,
  type Manifest,
  namespace,
  node,
  pod,
} from '../../control-plane/objects/manifests.ts';
import { type Outcome, run } from '../../control-plane/processes/command.ts';
import { newest, wantedRelease } from '../../control-plane/releases.ts';
import { until } from '../../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { editNode, makeNode } from '../harness/look.ts';

/**
 * `drydock drain`, `cordon` and `uncordon` beside the real kubectl, each on a node of its own with
 * the same pods.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

/**
 * Starts a command of drydock, presses Ctrl-C as soon as it has printed this, and waits for its
 * end.
 */
async function interrupted(pattern: RegExp, ...args: readonly string[]): Promise<Outcome> {
  const main = join(import.meta.dirname, '..', '..', '..', 'packages', 'cli', 'src', 'main.mjs');
  const child = spawn(
    process.execPath,
    [main, ...args, '--kubeconfig', harness.controlPlane.kubeconfig],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    printed.stdout += chunk;
    if (pattern.test(printed.stdout)) child.kill('SIGINT');
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (printed.stderr += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? -1, ...printed };
}

/**
 * Names that differ between the two runs become the same; the order in which pods leave is nobody's
 * promise.
 */
function plain(text: string, side: string): readonly string[] {
  return text
    .replaceAll(side, 'SIDE')
    .replace(/-([a-z0-9]{8,10}-)?[a-z0-9]{5}\b(?=[ ",\]\n]|$)/g, '-POD')
    .split('\n')
    .filter(line => line !== '')
    .sort();
}

describe('the commands of kubectl', { skip, concurrency: 8, timeout: 120_000 }, () => {
  const { api } = harness;
  // kubectl's words change from release to release: drydock has those of the newest.
  const isNewest = wantedRelease().name === newest.name;
  const lacksKubectl = isNewest
    ? harness.lacksKubectl
    : 'kubectl left out: its words are compared on the newest release alone';
  after(() => harness.stop());

  const podsThere = (nodeName: string, count: number): Promise<void> =>
    until(`${count} pods on ${nodeName}`, async () => {
      const found = await podsOn(api, nodeName);
      return found.length === count && found.every(({ status }) => status.phase !== 'Pending');
    });

  type Case = {
    readonly name: string;
    /** Everything of one side, in its own namespace and on its own node. */
    readonly fill: (side: {
      readonly namespace: string;
      readonly node: string;
    }) => readonly Manifest[];
    readonly pods: number;
    readonly flags: readonly string[];
    readonly code: number;
    /**
     * kubectl tells several reasons for one node in any order within a line: then only the lines of
     * the reasons are the same.
     */
    readonly sameNotes: boolean;
  };

  const bothSides = async ({
    name,
    fill,
    pods,
    flags,
  }: Case): Promise<{ readonly theirs: Outcome; readonly ours: Outcome }> => {
    const [theirs, ours] = await Promise.all(
      ['kubectl', 'drydock'].map(async side => {
        const at = { namespace: `${name}-${side}`, node: `${name}-${side}` };
        await create(api, node(at.node), namespace(at.namespace), ...fill(at));
        await podsThere(at.node, pods);
        const args = ['drain', at.node, ...flags];
        return side === 'kubectl' ? harness.controlPlane.kubectl(args) : harness.drydock(...args);
      }),
    );
    assert.ok(theirs !== undefined && ours !== undefined);
    return { theirs, ours };
  };

  const web: Case['fill'] = at => [deployment('web', { ...at, replicas: 3, onNodes: [at.node] })];
  const bare: Case['fill'] = at => [pod('bare', { namespace: at.namespace, onNodes: [at.node] })];
  const local: Case['fill'] = at => [
    deployment('local', { namespace: at.namespace, onNodes: [at.node], localData: true }),
  ];
  const agent: Case['fill'] = at => [
    daemonSet('agent', { namespace: at.namespace, onNodes: [at.node] }),
  ];
  const twoBudgets: Case['fill'] = at => [
    ...web(at),
    ...['one', 'two'].map(name =>
      budget(name, { namespace: at.namespace, maxUnavailable: 3, matchLabels: { app: 'web' } }),
    ),
  ];
  const slow: Case['fill'] = at => [
    deployment('slow', {
      namespace: at.namespace,
      onNodes: [at.node],
      annotations: { 'drydock.test/gone-after': '20s' },
      spec: { terminationGracePeriodSeconds: 60 },
    }),
  ];

  const cases: readonly Case[] = [
    { name: 'plain', fill: web, pods: 3, flags: [], code: 0, sameNotes: true },
    {
      name: 'deletes',
      fill: web,
      pods: 3,
      flags: ['--disable-eviction', '--grace-period=0'],
      code: 0,
      sameNotes: true,
    },
    {
      name: 'chosen',
      fill: at => [...web(at), ...bare(at)],
      pods: 4,
      flags: ['--pod-selector=app in (web),!x'],
      code: 0,
      sameNotes: true,
    },
    {
      name: 'bare',
      fill: at => [...web(at), ...bare(at)],
      pods: 4,
      flags: [],
      code: 1,
      sameNotes: true,
    },
    {
      name: 'several',
      fill: at => [...bare(at), ...local(at), ...agent(at)],
      pods: 3,
      flags: [],
      code: 1,
      sameNotes: false,
    },
    {
      name: 'forced',
      fill: at => [...web(at), ...bare(at)],
      pods: 4,
      flags: ['--force'],
      code: 0,
      sameNotes: true,
    },
    {
      name: 'local',
      fill: local,
      pods: 1,
      flags: ['--delete-emptydir-data=false'],
      code: 1,
      sameNotes: true,
    },
    {
      name: 'agents',
      fill: at => [...web(at), ...agent(at)],
      pods: 4,
      flags: [],
      code: 1,
      sameNotes: true,
    },
    {
      name: 'ignored',
      fill: at => [...web(at), ...agent(at)],
      pods: 4,
      flags: ['--ignore-daemonsets'],
      code: 0,
      sameNotes: true,
    },
    { name: 'client', fill: web, pods: 3, flags: ['--dry-run=client'], code: 0, sameNotes: true },
    { name: 'server', fill: web, pods: 3, flags: ['--dry-run=server'], code: 0, sameNotes: true },
    { name: 'late', fill: slow, pods: 1, flags: ['--timeout=2s'], code: 1, sameNotes: true },
  ];
  for (const one of cases) {
    test(`drain, case "${one.name}": the same lines, notes and exit code`, {
      skip: lacksKubectl,
    }, async () => {
      const { theirs, ours } = await bothSides(one);
      assert.deepEqual(
        plain(ours.stdout, `${one.name}-drydock`),
        plain(theirs.stdout, `${one.name}-kubectl`),
        ours.stderr + theirs.stderr,
      );
      assert.deepEqual([ours.code, theirs.code], [one.code, one.code], ours.stderr);
      const notes = (text: string, side: string): readonly string[] =>
        plain(text, `${one.name}-${side}`).filter(
          line => one.sameNotes || line.startsWith('cannot delete'),
        );
      assert.deepEqual(notes(ours.stderr, 'drydock'), notes(theirs.stderr, 'kubectl'));
    });
  }

  test('pods with two budgets fail the drain at once, with the words of the server; what would help is said as well', {
    skip: lacksKubectl,
  }, async () => {
    const mark = harness.controlPlane.audit.mark();
    const { theirs, ours } = await bothSides({
      name: 'twice',
      fill: twoBudgets,
      pods: 3,
      flags: [],
      code: 1,
      sameNotes: false,
    });
    assert.deepEqual([ours.code, theirs.code], [1, 1]);
    assert.deepEqual(plain(ours.stdout, 'twice-drydock'), plain(theirs.stdout, 'twice-kubectl'));
    const [help, ...notes] = ours.stderr.split('\n');
    assert.match(
      help ?? '',
      /^node\/twice-drydock waits: .*2 budgets select the pod.*; help: change the selectors/,
    );
    assert.deepEqual(
      plain(notes.join('\n'), 'twice-drydock'),
      plain(theirs.stderr, 'twice-kubectl'),
    );
    assert.match(ours.stderr, /This pod has more than one PodDisruptionBudget/);
    const calls = await harness.controlPlane.audit.since(mark);
    assert.equal(
      calls.filter(
        ({ subresource, namespace }) => subresource === 'eviction' && namespace === 'twice-drydock',
      ).length,
      3,
    );
  });

  test('sick pods go under a budget that lets them, though its status is not computed', {
    skip: lacksKubectl,
  }, async () => {
    const sides = ['kubectl', 'drydock'].map(side => ({ side, name: `sick-${side}` }));
    const outcomes = await Promise.all(
      sides.map(async ({ side, name }) => {
        const at = { namespace: name, node: name };
        await create(api, node(name), namespace(name));
        const { uid } = (await getNode(api, name)).metadata;
        const [sick] = bare(at);
        assert.ok(sick !== undefined);
        // A controller whose kind has no scale: the disruption controller cannot count its pods.
        const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid, controller: true }];
        await api.post(`/api/v1/namespaces/${name}/pods`, {
          ...sick,
          metadata: { ...sick.metadata, ownerReferences },
        });
        await podsThere(name, 1);
        const conditions = ['Ready', 'ContainersReady'].map(type => ({ type, status: 'False' }));
        const path = `/api/v1/namespaces/${name}/pods/bare/status`;
        await api.call(
          'PATCH',
          path,
          { status: { conditions } },
          'application/strategic-merge-patch+json',
        );
        // The pods come first: a budget that was computed while it had none has a status of its
        // generation.
        await create(
          api,
          budget('bare', {
            namespace: name,
            maxUnavailable: 1,
            unhealthyPodEvictionPolicy: 'AlwaysAllow',
          }),
        );
        await until(`the budget in ${name} to fail`, async () =>
          JSON.stringify(
            await api.get(`/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/bare`),
          ).includes('SyncFailed'),
        );
        const args = ['drain', name, '--timeout=20s'];
        return side === 'kubectl' ? harness.controlPlane.kubectl(args) : harness.drydock(...args);
      }),
    );
    for (const { code, stdout, stderr } of outcomes) {
      assert.equal(code, 0, stderr);
      assert.match(stdout, /^node\/sick-\w+ drained$/m);
    }
  });

  test('cordon and uncordon: the same lines, also for what is so already, and by label', {
    skip: lacksKubectl,
  }, async () => {
    await Promise.all(
      ['cordon-kubectl', 'cordon-drydock'].map(name =>
        makeNode(api, name, { labels: { pool: name } }),
      ),
    );
    for (const args of [
      ['cordon'],
      ['cordon'],
      ['uncordon'],
      ['uncordon'],
      ['cordon', '--dry-run=client'],
      ['cordon', '--dry-run=server'],
    ]) {
      const [theirs, ours] = await Promise.all([
        harness.controlPlane.kubectl([...args, '-l', 'pool=cordon-kubectl']),
        harness.drydock(...args, '-l', 'pool=cordon-drydock'),
      ]);
      assert.deepEqual(
        plain(ours.stdout, 'cordon-drydock'),
        plain(theirs.stdout, 'cordon-kubectl'),
      );
      assert.deepEqual([ours.code, ours.stderr], [theirs.code, theirs.stderr]);
    }
  });

  test('a node that does not exist is named in the same words, and nothing is done', {
    skip: lacksKubectl,
  }, async () => {
    await makeNode(api, 'exists');
    for (const command of ['drain', 'cordon', 'uncordon']) {
      const args = [command, 'exists', 'does-not'];
      const [theirs, ours] = await Promise.all([
        harness.controlPlane.kubectl(args),
        harness.drydock(...args),
      ]);
      assert.deepEqual(
        [ours.code, ours.stdout, ours.stderr],
        [theirs.code, theirs.stdout, theirs.stderr],
      );
    }
    assert.equal((await getNode(api, 'exists')).spec.unschedulable ?? false, false);
  });

  test('the flags of a connection mean what they mean to kubectl', {
    skip: lacksKubectl,
  }, async () => {
    await makeNode(api, 'reached');
    const { kubeconfig, server, folder } = harness.controlPlane;
    const nowhere = ['--server', 'https://127.0.0.1:1', '--request-timeout', '5'];
    const cases: readonly (readonly string[])[] = [
      ['--as', 'nobody', '--as-group', 'no-group'],
      ['--token', 'wrong'],
      ['--user', 'no-such-user'],
      ['--cluster', 'no-such-cluster'],
      ['--server', server, '--certificate-authority', join(folder, 'ca.crt'), '--namespace', 'any'],
      ['--insecure-skip-tls-verify=true'],
    ];
    for (const flags of cases) {
      const args = ['cordon', 'reached', '--dry-run=client', ...flags];
      const [theirs, ours] = await Promise.all([
        harness.controlPlane.kubectl(args),
        harness.drydock(...args),
      ]);
      assert.equal(ours.stdout, theirs.stdout, ours.stderr);
      assert.equal(ours.code === 0, theirs.code === 0, flags.join(' '));
      // What would help whoever lacks a right is ours.
      if (flags[0] === '--as' || flags[0] === '--token')
        assert.equal(ours.stderr.replace(/^help: .*\n/m, ''), theirs.stderr);
    }
    const lost = await harness.drydock('cordon', 'reached', ...nowhere);
    assert.deepEqual([lost.code, lost.stdout], [1, '']);
    assert.notEqual(kubeconfig, '');
  });

  const wrongCalls = [
    ['drain'],
    ['cordon'],
    ['uncordon'],
    ['drain', 'x', '-l', 'a=b'],
    ['uncordon', 'x', '--selector=a=b'],
    ['drain', 'x', '--timeout=soon'],
    ['drain', 'x', '--force=perhaps'],
    ['drain', 'x', '--dry-run=perhaps'],
    ['drain', 'x', '--pod-selector=a b'],
    ['cordon', 'pods/x'],
    ['drain', 'x', '--no-such-flag'],
    ['cordon', 'x', '--context=no-such-context'],
  ];
  test("a wrong call ends with kubectl's exit code", { skip: lacksKubectl }, async () => {
    for (const args of wrongCalls) {
      const [theirs, ours] = await Promise.all([
        harness.controlPlane.kubectl(args),
        harness.drydock(...args),
      ]);
      assert.deepEqual(
        [ours.code, theirs.code, ours.stdout],
        [1, 1, ''],
        args.join(' ') + ours.stderr + theirs.stderr,
      );
      assert.match(ours.stderr, /^(drydock|error): .+\n/, args.join(' '));
    }
  });

  test('several nodes are drained at once and share their budget, without a refused eviction', async () => {
    const nodes = ['fleet-1', 'fleet-2', 'fleet-3'];
    await create(api, ...nodes.map(name => node(name)), namespace('fleet'));
    await create(
      api,
      deployment('web', { namespace: 'fleet', replicas: 9, onNodes: nodes }),
      budget('web', { namespace: 'fleet', maxUnavailable: 2 }),
    );
    await budgetAllows(api, 'fleet', 'web', 2);
    const used = async (): Promise<readonly string[]> => {
      const counts = await Promise.all(
        nodes.map(async name => [name, (await podsOn(api, name)).length] as const),
      );
      return counts.filter(([, count]) => count > 0).map(([name]) => name);
    };
    const mark = harness.controlPlane.audit.mark();
    const drained = (await used()).slice(0, 2);
    const { code, stdout, stderr } = await harness.drydock('drain', ...drained);
    assert.deepEqual(
      [code, stderr.split('\n').filter(line => line !== '' && !line.includes('waits: '))],
      [0, []],
    );
    for (const name of drained) {
      assert.match(stdout, new RegExp(`^node/${name} drained$`, 'm'));
      assert.equal((await podsOn(api, name)).length, 0);
    }
    const calls = (await harness.controlPlane.audit.since(mark)).filter(
      ({ subresource, namespace }) => subresource === 'eviction' && namespace === 'fleet',
    );
    assert.deepEqual(
      calls.filter(({ code }) => code !== 201).map(({ code }) => code),
      [],
    );
  });

  test('Ctrl-C leaves a clear state and says it', async () => {
    const at = { namespace: 'broken', node: 'broken' };
    await create(api, node(at.node), namespace(at.namespace), ...slow(at));
    await podsThere(at.node, 1);
    const outcome = await interrupted(/evicting pod/, 'drain', 'broken');
    assert.equal(outcome.code, 130, outcome.stderr);
    assert.match(outcome.stderr, /^interrupted\. /m);
    assert.match(outcome.stderr, /node\/broken stays cordoned: 0 of 1 pods gone/);
    assert.match(
      outcome.stderr,
      /continue with: drydock drain broken .*; release with: drydock uncordon broken/,
    );
    assert.equal((await getNode(api, 'broken')).spec.unschedulable, true);
  });

  test('it is kubectl drydock as well, with completion', { skip: lacksKubectl }, async () => {
    await makeNode(api, 'plugged');
    const folder = mkdtempSync(join(tmpdir(), 'drydock-plugin-'));
    const scripts = join(import.meta.dirname, '..', '..', '..', 'scripts');
    symlinkSync(join(scripts, 'drydock.mjs'), join(folder, 'kubectl-drydock'));
    symlinkSync(join(scripts, 'kubectl-complete.mjs'), join(folder, 'kubectl_complete-drydock'));
    const environment = {
      PATH: `${folder}:${process.env['PATH'] ?? ''}`,
      KUBECONFIG: harness.controlPlane.kubeconfig,
    };
    const kubectl = (...args: readonly string[]): Promise<Outcome> =>
      run(harness.controlPlane.kubectlPath, args, { environment });
    try {
      const { code, stdout, stderr } = await kubectl('drydock', 'drain', 'plugged');
      assert.deepEqual(
        [code, stdout, stderr],
        [0, 'node/plugged cordoned\nnode/plugged drained\n', ''],
      );
      const completed = await kubectl('__complete', 'drydock', 'uncordon', 'plug');
      assert.match(completed.stdout, /^plugged\n:4$/m);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('a node that a maintenance holds is not uncordoned behind its back', async () => {
    await makeNode(api, 'held');
    const before =
      '{"unschedulable":false,"taints":{},"labels":{},"kinds":["maintenances.drydock.dev"]}';
    await editNode(api, 'held', {
      metadata: { annotations: { 'drydock.dev/before': before } },
      spec: { unschedulable: true },
    });
    const { code, stdout, stderr } = await harness.drydock('uncordon', 'held');
    assert.deepEqual([code, stdout], [1, '']);
    assert.match(
      stderr,
      /held by a maintenance \(maintenances\.drydock\.dev\).*drydock release held/,
    );
  });
});
