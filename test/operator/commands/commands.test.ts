import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { parse } from 'yaml';
import { create, getNode, podsReady } from '../../control-plane/objects/cluster.ts';
import { budget, deployment, namespace, pod } from '../../control-plane/objects/manifests.ts';
import { run } from '../../control-plane/processes/command.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import {
  faceOf,
  maintenancePath,
  makeNode,
  namesOn,
  remove,
  seed,
  seedPath,
  untilFace,
  untilMaintenance,
  untilSeed,
} from '../harness/look.ts';
import { main } from '../harness/shipped.ts';

/** The commands about maintenances, beside a running operator. */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('maintain, release, status and why', { skip, concurrency: 8, timeout: 120_000 }, () => {
  const { api } = harness;
  before(async () => {
    await harness.startOperator();
  });
  after(() => harness.stop());

  test('maintain makes the object and follows it; release gives the node back as it was', async () => {
    const face = await makeNode(api, 'whole', {
      labels: { 'remediation.medik8s.io/exclude-from-remediation': 'false' },
    });
    await create(
      api,
      namespace('whole'),
      deployment('web', { namespace: 'whole', replicas: 3, onNodes: ['whole'] }),
    );
    await podsReady(api, 'whole', 3);
    const maintained = await harness.drydock(
      'maintain',
      'whole',
      '--reason',
      'new disk',
      '--requester',
      'ops.example.com',
      '--wait',
    );
    assert.deepEqual([maintained.code, maintained.stderr], [0, '']);
    const lines = maintained.stdout.trimEnd().split('\n');
    assert.deepEqual(
      [lines[0], lines.at(-1)],
      ['maintenance.drydock.dev/whole created', 'node/whole drained and held'],
    );
    assert.deepEqual(await namesOn(api, 'whole'), []);
    assert.notDeepEqual(faceOf(await getNode(api, 'whole')), face);

    const { stdout } = await harness.drydock('status', 'whole', '-o', 'wide');
    assert.match(
      stdout,
      /^whole +Maintenance +whole +Drained +3\/3 .* new disk +Drain +ops\.example\.com +- +0$/m,
    );
    const asYaml = parse((await harness.drydock('status', 'whole', '-o', 'yaml')).stdout) as object;
    assert.deepEqual(
      asYaml,
      JSON.parse((await harness.drydock('status', 'whole', '-o', 'json')).stdout),
    );
    assert.match(
      (await harness.drydock('why', 'whole')).stdout,
      /^Node whole is held\. Maintenance whole \(new disk\), made .*, is Drained: /,
    );

    const released = await harness.drydock('release', 'whole');
    assert.deepEqual([released.code, released.stderr], [0, '']);
    assert.equal(released.stdout, 'maintenance.drydock.dev/whole deleted\nnode/whole released\n');
    await untilFace(api, 'whole', face);
  });

  test('why names what blocks, and what would help, for the node and for the pod', async () => {
    await makeNode(api, 'tight');
    await create(
      api,
      namespace('tight'),
      deployment('web', { namespace: 'tight', replicas: 2, onNodes: ['tight'] }),
      budget('web', { namespace: 'tight', minAvailable: 2 }),
      pod('bare', { namespace: 'tight', onNodes: ['tight'] }),
    );
    await podsReady(api, 'tight', 3);
    const outlook = await harness.drydock('why', 'node/tight');
    assert.match(
      outlook.stdout,
      /^No maintenance holds node tight\. A drain would find in its way: tight\/bare: has no controller that would recreate it\. /,
    );
    await harness.drydock('maintain', 'tight', '--force');
    await untilMaintenance(api, 'tight', 'Draining', ({ blockers = [] }) =>
      blockers.some(({ reason }) => reason === 'BudgetNeverAllows'),
    );
    const node = await harness.drydock('why', 'tight');
    assert.match(
      node.stdout,
      /^Node tight is held\. .*: budget web needs 2 healthy pods of 2: as it stands, it allows no disruption\. What helps: run more replicas/,
    );
    const [one = ''] = (await namesOn(api, 'tight')).filter(name => name.startsWith('web-'));
    const said = await harness.drydock('why', one, '-n', 'tight');
    assert.match(
      said.stdout,
      new RegExp(
        `^Pod tight/${one} runs on node tight\\. Maintenance tight drains it\\. It cannot go yet: budget web .*BudgetNeverAllows, since 20`,
      ),
    );
    assert.equal(said.stdout, (await harness.drydock('why', `tight/${one}`)).stdout);
    const missing = await harness.drydock('why', 'nowhere');
    assert.deepEqual([missing.code, missing.stdout], [1, '']);
    assert.match(missing.stderr, /no node "nowhere", and no pod of that name/);
    await remove(api, maintenancePath('tight'));
  });

  test('release leaves no doubt which maintenance is meant', async () => {
    const face = await makeNode(api, 'shared');
    await create(api, seed('shared'));
    await untilSeed(api, 'shared', 'Succeeded');
    assert.equal(
      (await harness.drydock('maintain', 'shared', '--name', 'second', '--wait')).code,
      0,
    );
    const unclear = await harness.drydock('release', 'shared');
    assert.deepEqual([unclear.code, unclear.stdout], [1, '']);
    assert.match(
      unclear.stderr,
      /^error: node "shared" is held by 2 maintenances: .*; choose one with --name, or end them with --all$/m,
    );
    for (const title of ['NodeMaintenance shared', 'Maintenance second'])
      assert.ok(unclear.stderr.includes(title), unclear.stderr);
    const first = await harness.drydock('release', 'shared', '--name', 'second');
    assert.deepEqual(
      [first.code, first.stderr],
      [0, 'node/shared stays held by NodeMaintenance shared\n'],
    );
    const rest = await harness.drydock('release', 'shared');
    assert.equal(
      rest.stdout,
      'nodemaintenance.nodemaintenance.medik8s.io/shared deleted\nnode/shared released\n',
    );
    assert.equal((await api.call('GET', seedPath('shared'))).status, 404);
    await untilFace(api, 'shared', face);
    const again = await harness.drydock('release', 'shared');
    assert.deepEqual(
      [again.code, again.stderr],
      [1, 'error: no maintenance holds node "shared"\n'],
    );
  });

  test('what cannot be made is said in the words of the server, with exit code 1', async () => {
    const nobody = await harness.drydock('maintain', 'nobody');
    assert.deepEqual(
      [nobody.code, nobody.stderr],
      [1, 'Error from server (NotFound): nodes "nobody" not found\n'],
    );
    await makeNode(api, 'twice');
    assert.equal((await harness.drydock('maintain', 'twice', '--level', 'Announce')).code, 0);
    const twice = await harness.drydock('maintain', 'twice');
    assert.equal(twice.code, 1);
    assert.match(twice.stderr, /^Error from server \(AlreadyExists\): .*"twice" already exists\n$/);
    assert.equal((await harness.drydock('maintain', 'twice', '--level', 'Somehow')).code, 2);
    await remove(api, maintenancePath('twice'));
  });

  test('a failed drain is exit code 1, and the node stays held', async () => {
    await makeNode(api, 'late');
    await create(api, namespace('late'), pod('bare', { namespace: 'late', onNodes: ['late'] }));
    await podsReady(api, 'late', 1);
    const { code, stdout, stderr } = await harness.drydock(
      'maintain',
      'late',
      '--timeout=1s',
      '--wait',
    );
    assert.equal(code, 1);
    assert.match(stdout, /bare: has no controller that would recreate it; help: set drain\.force/);
    assert.match(
      stderr,
      /^error: Maintenance late has failed; the node may still be held: drydock status late$/m,
    );
    await remove(api, maintenancePath('late'));
  });

  test('names of nodes are completed', async () => {
    await makeNode(api, 'complete-me');
    const { stdout } = await run(process.execPath, [main, '__complete', 'drain', 'complete-'], {
      environment: { KUBECONFIG: harness.controlPlane.kubeconfig },
    });
    assert.equal(stdout, 'complete-me\n');
  });
});
