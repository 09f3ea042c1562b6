import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { create, getNode, nodesReady } from '../../control-plane/objects/cluster.ts';
import type { List } from '../../control-plane/objects/objects.ts';
import type { Outcome } from '../../control-plane/processes/command.ts';
import { drydock, type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { isHeld, ourTaints } from '../harness/look.ts';
import {
  type Deed,
  dueNode,
  type MaintenancePlan,
  plan,
  planPath,
  untilPlan,
  Work,
} from './plan-work.ts';

/** `drydock plan` beside a running operator. Every test has nodes of its own. */

const started = await startHarness({
  roles: ['plans'],
  users: { viewer: ['system:authenticated'] },
});
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('drydock plan', { skip, timeout: 240_000 }, () => {
  const { api } = harness;
  const deeds = new Map<string, Deed>();
  let work: Work;
  before(async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'drydock-system' } };
    await api.call('POST', '/api/v1/namespaces', namespace);
    await harness.startOperator({ flags: ['--leader-elect'] });
    work = new Work(api, name => deeds.get(name) ?? { kernel: '6.12.9' });
  });
  after(async () => {
    await work.stop();
    await harness.stop();
  });

  const nodesOf = async (group: string, many: number): Promise<readonly string[]> => {
    const names = Array.from({ length: many }, (_, index) => `${group}-${index + 1}`);
    for (const name of names) await create(api, dueNode(name, { labels: { group } }));
    await nodesReady(api, names);
    return names;
  };

  const run = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await harness.drydock(...args);
    assert.equal(code, 0, `${args.join(' ')}: ${code}\n${stdout}${stderr}`);
    return stdout;
  };

  const wrong = async (...args: readonly string[]): Promise<Outcome> => {
    const outcome = await harness.drydock(...args);
    // A command that takes long says how far it is.
    const said = outcome.stderr
      .trimEnd()
      .split('\n')
      .filter(line => !line.startsWith('read '));
    assert.deepEqual([outcome.code, outcome.stdout, said.length], [2, '', 1], outcome.stderr);
    return outcome;
  };

  const specOf = async (name: string): Promise<MaintenancePlan['spec']> =>
    (await api.get<MaintenancePlan>(planPath(name))).spec;

  describe('beside each other', { concurrency: 4 }, () => {
    test('a rehearsal foretells a plan from its file before it is made, and by its name afterwards, and touches nothing', async () => {
      const names = await nodesOf('foretold', 4);
      const folder = mkdtempSync(join(tmpdir(), 'drydock-test-'));
      try {
        const file = join(folder, 'plan.json');
        writeFileSync(file, JSON.stringify(plan('foretold', 'foretold')));
        const times = ['--work-time', '8s', '--reboot-time', '12s', '--seeds', '1'];
        // What the cluster's own controllers change meanwhile is nobody's here.
        const looked = async (): Promise<readonly unknown[]> =>
          (await Promise.all(names.map(name => getNode(api, name)))).map(({ metadata, spec }) => [
            spec.unschedulable,
            metadata.annotations?.['drydock.dev/before'],
          ]);
        const before = await looked();
        assert.match(
          await run('plan', 'rehearse', file, ...times),
          /^Plan foretold is done with 4 nodes in 1m[34]\ds .*\n(.*\n)*foretold-1 /,
        );
        const compared = await run(
          'plan',
          'rehearse',
          file,
          ...times,
          '--parallel',
          '1,2',
          '--compare',
        );
        assert.match(
          compared,
          /^AT ONCE .*\nas planned {2}1m[34]\ds .*\n1 {11}1m[34]\ds .*\n2 {11}[45]\ds /,
        );
        assert.deepEqual(await looked(), before);
        assert.deepEqual(
          (await api.get<List<object>>('/apis/drydock.dev/v1alpha1/maintenances')).items.filter(
            one => JSON.stringify(one).includes('foretold'),
          ),
          [],
        );
        assert.match(
          (await wrong('plan', 'rehearse', 'foretold')).stderr,
          /maintenanceplans "foretold" not found/,
        );
        assert.match(
          (await wrong('plan', 'rehearse', file, '--parallel', '0.5')).stderr,
          /for --parallel/,
        );
        await create(api, plan('foretold', 'foretold', { state: 'Paused' }));
        assert.match(
          await run('plan', 'rehearse', 'foretold', ...times),
          /the plan is paused: it is played as if it were not/,
        );
        writeFileSync(
          file,
          JSON.stringify(plan('machines', 'foretold', { work: { replace: {} } })),
        );
        assert.match(
          (await wrong('plan', 'rehearse', file)).stderr,
          /plan machines cannot be rehearsed: it replaces machines/,
        );
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

    test('create, a canary that is approved, status until it is complete, history, rerun', async () => {
      const names = await nodesOf('made', 3);
      const due = "node.status.nodeInfo.kernelVersion != '6.12.9'";
      const args = [
        'plan',
        'create',
        'made',
        '-l',
        'group=made',
        '--image',
        'example.test/kernel:1',
        '--reboot',
        '--due',
        due,
        '--canary',
        '1',
      ];
      const printed = parse(
        (await drydock([...args, '--dry-run=client', '-o', 'yaml', '--', '--quick'])).stdout,
      ) as MaintenancePlan;
      assert.deepEqual(printed.spec, {
        nodeSelector: { matchLabels: { group: 'made' } },
        due: { expression: due },
        stages: [{ name: 'canary', limit: 1, approveAfter: true }],
        work: {
          job: {
            podSpec: {
              hostPID: true,
              containers: [
                {
                  name: 'work',
                  image: 'example.test/kernel:1',
                  args: ['--quick'],
                  securityContext: { privileged: true },
                },
              ],
            },
            rebootsNode: true,
          },
        },
      });
      assert.equal(
        await run(...args, '--dry-run=server'),
        'maintenanceplan.drydock.dev/made created (server dry run)\n',
      );
      assert.equal(await run(...args), 'maintenanceplan.drydock.dev/made created\n');
      const twice = await harness.drydock(...args);
      assert.deepEqual([twice.code, /AlreadyExists/.test(twice.stderr)], [1, true]);

      const waiting = await harness.drydock('plan', 'status', 'made', '-w');
      assert.equal(waiting.code, 3, waiting.stderr);
      assert.match(
        waiting.stdout,
        /^20\S+Z {2}AwaitingApproval, stage canary, 1\/3 done, 0 failed: stage canary is done \(1 done\), and somebody has to agree/m,
      );
      assert.match(waiting.stdout, /^canary +AwaitingApproval +1 +1$/m);
      assert.match(
        await run('plan', 'status'),
        /^made +AwaitingApproval +canary +1\/3 +0 +0 +Approval +stage canary is done/m,
      );
      assert.match(
        await run('why', names[1] ?? ''),
        /MaintenancePlan made selects it, .* is AwaitingApproval: .* What helps: drydock plan approve made\.$/m,
      );
      assert.match(
        (await wrong('plan', 'approve', 'made', 'rest')).stderr,
        /waits for no approval of stage rest: it waits for an approval of what follows stage canary/,
      );
      assert.match(
        await run('plan', 'approve', 'made'),
        /^maintenanceapproval\.drydock\.dev\/made-\w+ created\nrun 1 of plan made: what follows stage canary is approved$/m,
      );

      const complete = await harness.drydock('plan', 'status', 'made', '-w', '--nodes');
      assert.equal(complete.code, 0, complete.stderr);
      for (const name of names)
        assert.match(complete.stdout, new RegExp(`^${name} +Done +\\w+ +20`, 'm'));
      assert.match(
        (await wrong('plan', 'approve', 'made')).stderr,
        /waits for no approval: it is Complete; --yes approves ahead/,
      );
      assert.match(
        await run('plan', 'history', 'made'),
        /^1 +\w+ +Complete +3 +0 +0 +0 +0 +20\S+ +20\S+$/m,
      );
      const ofRun = await run('plan', 'history', 'made', '--run', '1');
      for (const name of names) assert.match(ofRun, new RegExp(`^${name} +Done +\\w+ +20`, 'm'));
      assert.match(
        (await wrong('plan', 'history', 'made', '--run', '7')).stderr,
        /plan made has no record of run 7; those it has: 1$/m,
      );
      assert.match(
        await run('why', names[0] ?? ''),
        /MaintenancePlan made has finished with it in this run \(Done\), since 20/,
      );
      assert.equal(
        await run('plan', 'rerun', 'made'),
        'maintenanceplan.drydock.dev/made begins run 2\n',
      );
      await untilPlan(
        api,
        'made',
        'in its second run',
        ({ run: now, phase }) => now?.id === '2' && phase === 'Complete',
      );
      const { runs } = JSON.parse(await run('plan', 'history', 'made', '-o', 'json')) as {
        runs: readonly { run: string; phase?: string }[];
      };
      assert.deepEqual(
        runs.map(one => [one.run, one.phase]),
        [
          ['1', undefined],
          ['2', 'Complete'],
        ],
      );
    });

    test('a failed node halts the plan, and is retried; another is skipped', async () => {
      const [first = '', second = '', third = ''] = await nodesOf('failing', 3);
      deeds.set(first, { exitCode: 1 });
      await create(
        api,
        plan('failing', 'failing', { halt: { consecutive: 1 }, order: { by: ['Name'] } }),
      );
      const halted = await harness.drydock('plan', 'status', 'failing', '--watch');
      assert.equal(halted.code, 4, halted.stderr);
      assert.match(
        halted.stdout,
        new RegExp(`^${first} +rest +Working +20\\S+ +yes +.*exit code 1`, 'm'),
      );
      assert.match(
        await run('why', first),
        /MaintenancePlan failing has failed on it at .* The node stays held\. What helps: drydock plan retry failing failing-1\.$/m,
      );
      assert.match(
        (await wrong('plan', 'retry', 'failing', second)).stderr,
        /node failing-2 has not failed in this run of plan failing/,
      );
      await wrong('plan', 'retry', 'failing');
      assert.equal(
        (await harness.drydock('plan', 'skip', 'failing', third)).code,
        2,
        'without a reason',
      );
      assert.equal(
        (await harness.drydock('plan', 'skip', 'failing', 'nowhere', '--reason', 'x')).code,
        1,
      );
      assert.equal(
        await run('plan', 'skip', 'failing', third, '--reason', 'new disk'),
        `maintenanceplan.drydock.dev/failing leaves node/${third} out\n`,
      );
      assert.match(
        await run('why', third),
        /MaintenancePlan failing leaves it out \(new disk\)\.$/m,
      );
      deeds.delete(first);
      assert.equal(
        await run('plan', 'retry', 'failing', first),
        `node/${first} has its turn again\n`,
      );
      assert.equal((await harness.drydock('plan', 'status', 'failing', '-w')).code, 0);
      assert.equal(
        await run('plan', 'retry', 'failing', '--failed'),
        'no node of plan failing has failed: there is nothing to retry\n',
      );
      const { retries, skipNodes } = await specOf('failing');
      assert.deepEqual(
        [retries?.map(({ name }) => name), skipNodes],
        [[first], [{ name: third, reason: 'new disk' }]],
      );
      assert.equal(isHeld(await getNode(api, first), ourTaints), false);
    });

    test('a pause that says why and until when ends by itself; resume ends it before', async () => {
      const [first = ''] = await nodesOf('resting', 2);
      await create(api, plan('resting', 'resting', { state: 'Paused' }));
      await untilPlan(api, 'resting', 'paused', ({ phase }) => phase === 'Paused');
      const until = await run(
        'plan',
        'pause',
        'resting',
        '--reason',
        'release of 2.0',
        '--until',
        '1h',
      );
      assert.match(until, /^maintenanceplan\.drydock\.dev\/resting paused until 20\S+Z\n$/);
      const message = /^Paused until 20\S+Z: release of 2\.0$/;
      const { conditions = [] } = await untilPlan(
        api,
        'resting',
        'paused until then',
        ({ message: text }) => message.test(text ?? ''),
      );
      assert.match(conditions.find(({ type }) => type === 'Paused')?.message ?? '', message);
      assert.match(
        await run('why', first),
        /is Paused: Paused until 20\S+Z: release of 2\.0\. What helps: drydock plan resume resting/,
      );
      assert.equal(
        await run('plan', 'resume', 'resting'),
        'maintenanceplan.drydock.dev/resting resumed\n',
      );
      assert.equal((await specOf('resting')).pause, undefined);
      await untilPlan(
        api,
        'resting',
        'running',
        ({ phase }) => phase === 'Running' || phase === 'Complete',
      );
      await nodesOf('dozing', 1);
      await create(api, plan('dozing', 'dozing', { state: 'Paused' }));
      await run('plan', 'pause', 'dozing', '--until', '3s');
      const over = await untilPlan(api, 'dozing', 'complete', ({ phase }) => phase === 'Complete');
      const paused = over.conditions?.find(({ type }) => type === 'Paused');
      assert.deepEqual([paused?.status, paused?.reason], ['False', 'PauseOver']);
      const [, ended = ''] =
        /^The pause is over\. Paused until (20\S+Z)$/.exec(paused?.message ?? '') ?? [];
      assert.ok(Date.parse(over.completionTime ?? '') >= Date.parse(ended), JSON.stringify(over));
      assert.match(
        (await wrong('plan', 'pause', 'dozing', '--until', '2020-01-01T00:00:00Z')).stderr,
        /expected a time in the future/,
      );
    });

    test('pause, resume, abort, and a rerun of what was aborted', async () => {
      const [first = '', second = '', third = ''] = await nodesOf('steered', 3);
      deeds.set(first, { hangs: true });
      const job = {
        podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
        rebootsNode: true,
        timeoutSeconds: 600,
      };
      await create(api, plan('steered', 'steered', { order: { by: ['Name'] }, work: { job } }));
      await untilPlan(
        api,
        'steered',
        'working',
        ({ inFlight }) => inFlight?.[0]?.state === 'Working',
      );
      assert.match(
        await run('why', first),
        /MaintenancePlan steered \(Running\) has it in flight: Working since 20\S+\. It waits for Working: /,
      );
      assert.match(
        await run('why', second),
        /MaintenancePlan steered \(Running\) selects it .* It waits for MaxInFlight: .* What helps: wait until a node in flight is done/,
      );
      assert.match(
        (await wrong('plan', 'next', 'steered', first)).stderr,
        /node steered-1 is in flight in plan steered already/,
      );
      assert.equal(
        await run('plan', 'next', 'steered', third),
        `maintenanceplan.drydock.dev/steered has node/${third} at the front of its stage\n`,
      );
      const paused = await harness.drydock('plan', 'pause', 'steered');
      assert.deepEqual(
        [paused.code, paused.stdout],
        [0, 'maintenanceplan.drydock.dev/steered paused\n'],
      );
      assert.match(paused.stderr, /^1 node in flight: the plan finishes what it has begun$/m);
      assert.equal(
        (await harness.drydock('plan', 'pause', 'steered')).stdout,
        'maintenanceplan.drydock.dev/steered already paused\n',
      );
      await untilPlan(api, 'steered', 'paused', ({ phase }) => phase === 'Paused');
      assert.match(
        await run('plan', 'status', 'steered', '-o', 'wide'),
        new RegExp(`^${first} +Working +20\\S+ +1 +rest$`, 'm'),
      );
      assert.equal(
        await run('plan', 'resume', 'steered'),
        'maintenanceplan.drydock.dev/steered resumed\n',
      );
      await untilPlan(api, 'steered', 'running', ({ phase }) => phase === 'Running');
      assert.equal(
        await run('plan', 'abort', 'steered'),
        'maintenanceplan.drydock.dev/steered aborted\n',
      );
      assert.equal((await harness.drydock('plan', 'status', 'steered', '-w')).code, 4);
      deeds.delete(first);
      assert.equal(
        await run('plan', 'rerun', 'steered'),
        'maintenanceplan.drydock.dev/steered begins run 2\n',
      );
      assert.equal((await specOf('steered')).state, 'Running');
      // What hung in the first run fails in the run that is under way by then.
      await work.end(first, { exitCode: 1 });
      await untilPlan(
        api,
        'steered',
        'complete',
        ({ phase, nodes }) => phase === 'Complete' && nodes?.failed === 1,
      );
      assert.equal(
        await run('plan', 'retry', 'steered', '--failed'),
        `node/${first} has its turn again\n`,
      );
      const end = await harness.drydock('plan', 'status', 'steered', '-w', '-o', 'json');
      assert.equal(end.code, 0);
      assert.match(end.stdout, /"progress": "3\/3"/);
      assert.deepEqual(
        (await specOf('steered')).retries?.map(({ name }) => name),
        ['*'],
      );
    });

    test('what a plan has done is undone, the last nodes first, and done again', async () => {
      const names = await nodesOf('undone', 3);
      const image = 'example.test/kernel:0';
      const rollback = {
        work: {
          job: {
            podSpec: { containers: [{ name: 'down', image }] },
            rebootsNode: true,
            timeoutSeconds: 20,
          },
        },
      };
      await create(api, plan('undone', 'undone', { order: { by: ['Name'] }, rollback }));
      assert.match((await harness.drydock('plan', 'undo', 'nothing')).stderr, /not found/);
      await untilPlan(api, 'undone', 'complete', ({ phase }) => phase === 'Complete');
      for (const name of names) deeds.set(name, { kernel: '6.1.0' });
      assert.equal(
        await run('plan', 'undo', 'undone'),
        'maintenanceplan.drydock.dev/undone is undone by run 2\n',
      );
      const end = await untilPlan(
        api,
        'undone',
        'undone',
        ({ phase, run: now }) => phase === 'Complete' && now?.id === '2',
      );
      assert.equal(end.message, 'Undone: 3 done, 0 failed, 0 due of 3 nodes');
      for (const name of names) assert.equal(isHeld(await getNode(api, name), ourTaints), false);
      const ofRun = await run('plan', 'history', 'undone', '--run', '2');
      assert.deepEqual(
        new Set([...ofRun.matchAll(/^(undone-\d) +Done /gm)].map(([, name]) => name)),
        new Set(names),
      );
      const begun = work.begun.filter(name => names.includes(name));
      assert.deepEqual(begun, [...names, ...names.toReversed()]);
      assert.match(
        await run('plan', 'undo', 'undone'),
        /already undone; it goes forward again with: drydock plan rerun undone$/m,
      );
      for (const name of names) deeds.delete(name);
      assert.equal(
        await run('plan', 'rerun', 'undone'),
        'maintenanceplan.drydock.dev/undone begins run 3\n',
      );
      await untilPlan(
        api,
        'undone',
        'done again',
        ({ phase, run: now }) => phase === 'Complete' && now?.id === '3',
      );
      assert.equal((await specOf('undone')).direction, 'Forward');
    });

    test('a quiet time ends by a promotion, and all of them by a full one', async () => {
      await nodesOf('quiet', 4);
      const stage = { limit: 1, soakSeconds: 3600, approveAfter: true };
      const stages = ['one', 'two', 'three'].map(name => ({ name, ...stage }));
      await create(api, plan('quiet', 'quiet', { stages }));
      await untilPlan(
        api,
        'quiet',
        'quiet',
        ({ waitingFor, run: now }) => waitingFor === 'StageSoak' && now?.stage === 'one',
      );
      await wrong('plan', 'approve', 'quiet');
      assert.match(
        await run('plan', 'promote', 'quiet'),
        /^maintenanceapproval\.drydock\.dev\/quiet-\w+ created\nrun 1 of plan quiet: stage one is over, and the next one begins$/m,
      );
      await untilPlan(
        api,
        'quiet',
        'quiet again',
        ({ waitingFor, run: now }) => waitingFor === 'StageSoak' && now?.stage === 'two',
      );
      assert.match(
        await run('plan', 'promote', 'quiet', '--full'),
        /run 1 of plan quiet: it goes through all its stages without/,
      );
      assert.equal((await harness.drydock('plan', 'status', 'quiet', '-w')).code, 0);
      assert.match(
        (await wrong('plan', 'promote', 'quiet')).stderr,
        /waits for no soak time and no approval: it is Complete/,
      );
    });

    test('an approval that has expired is given anew', async () => {
      await nodesOf('lapsed', 2);
      const expires = { expiresAfterSeconds: 3 };
      const stages = [{ name: 'canary', limit: 1, approveAfter: true }];
      await create(api, plan('lapsed', 'lapsed', { stages, approval: expires, state: 'Paused' }));
      await untilPlan(api, 'lapsed', 'paused', ({ phase }) => phase === 'Paused');
      assert.match(await run('plan', 'approve', 'lapsed', 'canary', '--yes'), /created/);
      await new Promise(resolve => setTimeout(resolve, 3500));
      await run('plan', 'resume', 'lapsed');
      const waiting = await harness.drydock('plan', 'status', 'lapsed', '-w');
      assert.equal(waiting.code, 3, waiting.stdout);
      assert.match(waiting.stdout, /the approval of 20\S+ has expired/);
      assert.match(
        await run('plan', 'approve', 'lapsed'),
        /created/,
        'in place of the one that has expired',
      );
      assert.equal((await harness.drydock('plan', 'status', 'lapsed', '-w')).code, 0);
    });

    test('what is wrong is said in one line, with what to do', async () => {
      assert.match(
        (await wrong('plan', 'create', 'x', '--image', 'y')).stderr,
        /select the nodes with --selector/,
      );
      assert.match(
        (await wrong('plan', 'create', 'x', '-l', 'a=b', '--image', 'y', '--max-in-flight', 'many'))
          .stderr,
        /--max-in-flight/,
      );
      assert.match(
        (await wrong('plan', 'create', 'x', '-l', 'a=b', '--command')).stderr,
        /add --image/,
      );
      assert.match((await wrong('plan', 'status', '-w')).stderr, /name the plan/);
      assert.match((await wrong('plan', 'halt')).stderr, /--reason.*--release/);
      const none = await harness.drydock('plan', 'pause', 'nothing');
      assert.equal(none.code, 1);
      assert.match(
        none.stderr,
        /^Error from server \(NotFound\): .*"nothing" not found; drydock plan status lists the plans$/m,
      );
      const refused = await drydock([
        'plan',
        'pause',
        'nothing',
        '--kubeconfig',
        harness.controlPlane.kubeconfigOf('viewer'),
      ]);
      assert.match(
        refused.stderr,
        /is forbidden.*\nhelp: the role drydock-plan-operator is enough/,
      );
    });
  });

  test('halt stops all plans, and lets them go on', async () => {
    const names = await nodesOf('stopped', 2);
    const missing = await harness.drydock('plan', 'halt', '--reason', 'x', '-n', 'default');
    assert.equal(missing.code, 1);
    assert.match(
      missing.stderr,
      /^error: no operator has its Lease .* in namespace default; name the namespace of the operator with --namespace$/m,
    );
    assert.equal(
      await run('plan', 'halt', '--reason', 'storage is degraded'),
      'all plans are halted: storage is degraded; work that has begun is finished, other nodes are released\n',
    );
    await create(api, plan('stopped', 'stopped'));
    const { message } = await untilPlan(
      api,
      'stopped',
      'halted',
      ({ phase }) => phase === 'Halted',
    );
    assert.match(message ?? '', /all plans are halted: storage is degraded/);
    assert.match(
      await run('why', names[0] ?? ''),
      /MaintenancePlan stopped selects it, .* is Halted: .*storage is degraded\. What helps: drydock plan halt --release/,
    );
    assert.equal(
      await run('plan', 'halt', '--release'),
      'plans continue; they were halted: storage is degraded\n',
    );
    await untilPlan(api, 'stopped', 'complete', ({ phase }) => phase === 'Complete');
    assert.equal(await run('plan', 'halt', '--release'), 'plans were not halted\n');
  });
});
