import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import type { RehearsalForecast } from '@drydock/rehearse/report';
import { create, podsReady } from '../../control-plane/objects/cluster.ts';
import { budget, deployment, namespace, pod } from '../../control-plane/objects/manifests.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  makeNode,
  remove,
  seed,
  seedPath,
  untilMaintenance,
  untilSeed,
} from '../harness/look.ts';

const started = await startHarness();
const skip = skipOf(started);
const folder = mkdtempSync(join(tmpdir(), 'drydock-rehearse-'));

describe('drydock rehearse and drydock snapshot', { skip, timeout: 240_000 }, () => {
  const harness = started as OperatorHarness;
  const { api, controlPlane } = harness;

  before(async () => {
    await makeNode(api, 'r-1');
    await create(
      api,
      namespace('r-shop'),
      budget('web', { namespace: 'r-shop', maxUnavailable: 1 }),
      budget('strict', { namespace: 'r-shop', minAvailable: 2 }),
      deployment('web', {
        namespace: 'r-shop',
        replicas: 4,
        spec: {
          containers: [
            { name: 'main', image: 'example.test/none:1', env: [{ name: 'KEY', value: 'hush' }] },
          ],
        },
      }),
      deployment('strict', { namespace: 'r-shop', replicas: 2 }),
      pod('bare', { namespace: 'r-shop' }),
    );
    await podsReady(api, 'r-shop', 7);
    await makeNode(api, 'r-2');
  });

  after(async () => {
    rmSync(folder, { recursive: true, force: true });
    if (skip === false) await harness.stop();
  });

  const foreseen = (output: string): RehearsalForecast => JSON.parse(output) as RehearsalForecast;

  /** Cause and pod of what a rehearsal names, and of what a Maintenance names. */
  const foretold = (blockers: RehearsalForecast['blockers'] = []): readonly string[] =>
    blockers.map(({ reason, what = '' }) => `${reason} ${what}`).sort();
  const told = ({ blockers = [] }: MaintenanceStatus): readonly string[] =>
    blockers
      .map(({ reason, pod: about }) => `${reason} ${about?.namespace ?? ''}/${about?.name ?? ''}`)
      .sort();

  test('nothing is written to the cluster: it is only listed', async () => {
    const mark = controlPlane.audit.mark();
    const taken = await harness.drydock('snapshot', join(folder, 'copy'));
    assert.equal(taken.code, 0, taken.stderr);
    const live = await harness.drydock('rehearse', 'r-1', '--force', '-o', 'json', '--seeds', '1');
    assert.equal(live.code, 1, live.stderr);
    const asked = await controlPlane.audit.since(mark, 'admin');
    // What the test and its command are called by is the same user; nobody else was asked for
    // anything meanwhile.
    assert.ok(asked.length > 20);
    assert.deepEqual(
      [...new Set(asked.map(({ verb }) => verb))].filter(
        verb => !['get', 'list', 'watch'].includes(verb),
      ),
      [],
    );
    assert.deepEqual(
      asked.filter(({ resource }) => resource === 'secrets' || resource === 'configmaps'),
      [],
    );
    const texts = readdirSync(join(folder, 'copy')).map(name =>
      readFileSync(join(folder, 'copy', name), 'utf8'),
    );
    assert.ok(
      texts.every(text => !text.includes('hush')),
      'values of variables are not copied',
    );
    assert.deepEqual(
      [
        (await harness.drydock('snapshot', join(folder, 'copy'))).code,
        (await harness.drydock('snapshot', join(folder, 'copy', 'nodes.json', 'in'))).code,
      ],
      [2, 2],
      'a folder that is full, and one that cannot be made',
    );
  });

  test('the same is foreseen from the snapshot and from the output of kubectl, and it is what then happens', async t => {
    const played = await harness.drydock(
      'rehearse',
      'r-1',
      '--force',
      '-o',
      'json',
      '--snapshot',
      join(folder, 'copy'),
    );
    assert.equal(played.code, 1, played.stderr);
    const { blockers, finishes, moves, notes } = foreseen(played.stdout);
    assert.deepEqual([finishes, moves, notes], [false, { gone: 5, again: 0 }, []]);
    assert.deepEqual(
      [...new Set(blockers.map(({ reason, budgets }) => `${reason} ${budgets?.join() ?? ''}`))],
      ['BudgetNeverAllows r-shop/strict'],
    );
    if (harness.lacksKubectl === false) {
      const kinds =
        'nodes,pods,poddisruptionbudgets,deployments,replicasets,statefulsets,daemonsets,jobs,namespaces';
      const got = await controlPlane.kubectl(['get', kinds, '-A', '-o', 'json']);
      const other = mkdtempSync(join(folder, 'kubectl-'));
      writeFileSync(join(other, 'all.json'), got.stdout);
      const again = foreseen(
        (await harness.drydock('rehearse', 'r-1', '--force', '-o', 'json', '--snapshot', other))
          .stdout,
      );
      assert.deepEqual(
        again.blockers.map(({ reason, what }) => [reason, what]),
        blockers.map(({ reason, what }) => [reason, what]),
      );
    } else t.diagnostic(harness.lacksKubectl);
    await harness.startOperator();
    await create(api, maintenance('r-1'));
    const status = await untilMaintenance(
      api,
      'r-1',
      'Draining',
      ({ pods, blockers = [] }) => pods?.gone === 5 && blockers.length === 2,
    );
    assert.deepEqual(told(status), foretold(blockers));
    await remove(api, maintenancePath('r-1'));
  });

  test('what the policy refuses, what is behind it, and what keeps a NodeMaintenance is what then happens', async () => {
    await makeNode(api, 'r-3');
    const own = { namespace: 'r-back', onNodes: ['r-3'] };
    await create(
      api,
      namespace('r-back'),
      budget('still', { namespace: 'r-back', minAvailable: 2 }),
      deployment('still', { ...own, replicas: 2 }),
      pod('alone', own),
    );
    await podsReady(api, 'r-back', 3);
    const file = join(folder, 'node-maintenance.yaml');
    writeFileSync(file, JSON.stringify(seed('r-3')));
    const rehearsed = async (...args: readonly string[]): Promise<RehearsalForecast> => {
      const { code, stdout, stderr } = await harness.drydock(
        'rehearse',
        ...args,
        '-o',
        'json',
        '--seeds',
        '1',
      );
      assert.equal(code, 1, stderr);
      return foreseen(stdout);
    };
    const [careful, forced] = [await rehearsed('r-3'), await rehearsed('-f', file)];
    const [refused, behind] = [foretold(careful.blockers), foretold(careful.behind)];
    assert.deepEqual(
      [refused, behind.length, foretold(forced.blockers)],
      [['Unmanaged r-back/alone'], 2, behind],
    );

    const reallyNamed = async (
      wanted: readonly string[],
      spec: Parameters<typeof maintenance>[1],
    ): Promise<void> => {
      await create(api, maintenance('r-3', spec));
      assert.deepEqual(
        told(
          await untilMaintenance(
            api,
            'r-3',
            'Draining',
            ({ blockers }) => blockers?.length === wanted.length,
          ),
        ),
        wanted,
      );
      await remove(api, maintenancePath('r-3'));
    };
    await reallyNamed(refused, { drain: { force: false } });
    await reallyNamed(behind, {});
    await create(api, seed('r-3'));
    const kept = forced.blockers.flatMap(({ what = '' }) => what.split('/')[1] ?? []).sort();
    await untilSeed(
      api,
      'r-3',
      'Running',
      ({ pendingPods = [] }) => pendingPods.toSorted().join() === kept.join(),
    );
    await remove(api, seedPath('r-3'));
  });

  test('text, picture, files and wrong calls', async () => {
    const copy = ['--snapshot', join(folder, 'copy'), '--seeds', '1'];
    const text = await harness.drydock('rehearse', 'r-2', ...copy);
    assert.equal(text.code, 0, text.stderr);
    assert.match(text.stdout, /^r-2 is drained in /);
    const snapshot = await harness.drydock(
      'rehearse',
      '--all',
      '--parallel',
      '1',
      '--force',
      ...copy,
      '-o',
      'svg',
    );
    assert.equal(snapshot.code, 1);
    assert.match(snapshot.stdout, /^<svg /);
    const file = join(folder, 'maintenance.yaml');
    writeFileSync(file, JSON.stringify(maintenance('r-2')));
    assert.equal((await harness.drydock('rehearse', '-f', file, ...copy)).code, 0);
    writeFileSync(file, JSON.stringify(maintenance('r-2', { level: 'Wash' as 'Drain' })));
    const wrong: readonly (readonly [readonly string[], RegExp])[] = [
      [['nobody', ...copy], /^drydock: nodes "nobody" not found$/],
      [['r-1', '--snapshot', join(folder, 'missing')], /^drydock: there is no snapshot in /],
      [
        ['r-1', ...copy, '--parallel', '0'],
        /^drydock: invalid value "0" for --parallel: expected a whole number, 1 or more$/,
      ],
      [
        ['r-1', '--seeds', 'x'],
        /^drydock: invalid value "x" for --seeds: expected a whole number$/,
      ],
      [
        ['r-1', '--timeout', 'soon'],
        /^drydock: invalid value "soon" for --timeout: expected a duration/,
      ],
      [['r-1', '-l', 'a=b'], /^drydock: cannot specify both/],
      [['-f', file, ...copy], /^drydock: .*spec\.level: .*Wash/],
      [[...copy], /^drydock: USAGE: rehearse NODE/],
    ];
    for (const [args, said] of wrong) {
      const { code, stdout, stderr } = await harness.drydock('rehearse', ...args);
      assert.deepEqual([code, stdout], [2, ''], stderr);
      assert.match(stderr.trim(), said);
    }
  });
});
