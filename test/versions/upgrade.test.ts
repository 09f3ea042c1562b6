import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create, nodePath, nodesReady } from '../control-plane/objects/cluster.ts';
import { newest, type Release, releaseNamed } from '../control-plane/releases.ts';
import { until } from '../control-plane/wait.ts';
import {
  type OperatorHarness,
  type OperatorProcess,
  skipOf,
  startHarness,
} from '../operator/harness/harness.ts';
import {
  maintenance,
  maintenancePath,
  makeNode,
  nodePatches,
  remove,
  untilFace,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { Phases } from '../operator/harness/phases.ts';
import { dueNode, plan, planPath, untilPlan } from '../operator/plans/plan-work.ts';

/**
 * Kubernetes is upgraded under a running operator, from the oldest release to the newest on one
 * etcd, with maintenances in every phase. The step in between has the etcd (3.6) without which the
 * newest one (3.7) could not read the data of the oldest (3.5). A cluster goes one minor release at
 * a time; of 1.31 and 1.32 there is no control plane to be built.
 */

const started = await startHarness({ release: releaseNamed('1.30'), roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('Kubernetes is upgraded under a running operator', { skip, timeout: 420_000 }, () => {
  const { api, controlPlane } = harness;
  const phases = new Phases(api);
  let operator: OperatorProcess;
  let pid = 0;

  before(async () => {
    operator = await harness.startOperator();
    pid = await operator.running.pid();
    await phases.makeSurroundings();
  });
  after(() => harness.stop());

  const planned = ['plan-1', 'plan-2'];
  const finish = (name: string): Promise<unknown> =>
    api.patch(nodePath(name), { metadata: { labels: { patched: 'yes' } } });

  /** A plan whose work is somebody else's, who takes his time. */
  const makePlan = async (): Promise<void> => {
    for (const name of planned) await create(api, dueNode(name, { labels: { group: 'planned' } }));
    await nodesReady(api, planned);
    const patched = "'patched' in node.metadata.labels";
    const external = { finished: { expression: patched }, timeoutSeconds: 86_400 };
    await create(
      api,
      plan('upgraded', 'planned', { due: { expression: `!(${patched})` }, work: { external } }),
    );
  };

  type AtWork = { readonly node: string; readonly workStartTime: string | undefined };

  /** It has begun with one node, once, and goes on waiting for it. */
  const untilAtWork = async (): Promise<AtWork> => {
    const { inFlight = [] } = await untilPlan(
      api,
      'upgraded',
      'at work',
      status => status.inFlight?.[0]?.state === 'Working',
    );
    const [one, another] = inFlight;
    assert.ok(
      one !== undefined && another === undefined && planned.includes(one.node),
      JSON.stringify(inFlight),
    );
    return { node: one.node, workStartTime: one.workStartTime };
  };

  const upgrade = async (release: Release): Promise<void> => {
    const since = await untilAtWork();
    const mark = controlPlane.audit.mark();
    await controlPlane.upgrade(release);
    assert.equal(
      (await api.get<{ readonly gitVersion: string }>('/version')).gitVersion,
      release.version,
    );
    await phases.untilReached();
    assert.deepEqual(await untilAtWork(), since, 'the work has not begun again');
    assert.deepEqual(
      [operator.running.alive(), await operator.running.pid()],
      [true, pid],
      operator.running.tail(),
    );
    for (const name of phases.held.keys()) {
      const patches = (await nodePatches(harness, mark, name)).filter(
        ({ subresource }) => subresource === '',
      );
      assert.deepEqual(patches, [], `${name} is held without a gap: nobody writes it`);
    }
    // It works on: a maintenance from its beginning to its end.
    const name = `new-${release.minor}`;
    const face = await makeNode(api, name);
    await create(api, maintenance(name));
    await untilMaintenance(api, name, 'Drained');
    await remove(api, maintenancePath(name));
    await untilFace(api, name, face);
  };

  test('on the oldest: maintenances in every phase, and a plan in the middle of its work', async () => {
    await phases.makeMaintenances();
    await makePlan();
    await phases.untilReached();
    await untilAtWork();
  });

  test('1.30 to 1.34: all are as before, and what comes is done', async () => {
    await upgrade(releaseNamed('1.34'));
    await api.patch(maintenancePath('up-cordoned'), { spec: { level: 'Drain' } });
    await untilMaintenance(api, 'up-cordoned', 'Drained');
    await api.patch(maintenancePath('up-cordoned'), { spec: { level: 'Cordon' } });
    await phases.untilReached();
  });

  test('1.34 to the newest, and all of them to their end', async () => {
    await upgrade(newest);
    await phases.end();
    // The other one first: it is not to begin in between.
    const { node } = await untilAtWork();
    for (const name of [...planned.filter(other => other !== node), node]) await finish(name);
    const { nodes } = await untilPlan(
      api,
      'upgraded',
      'complete',
      ({ phase }) => phase === 'Complete',
    );
    assert.deepEqual([nodes?.done, nodes?.failed], [1, 0], 'the second is not due any more');
    await remove(api, planPath('upgraded'));
  });

  test('what the oldest lacked is installed by the next drydock install, once', async () => {
    const install = () =>
      harness.drydock(
        'install',
        '--apply',
        '--force-conflicts',
        '--without',
        'operator',
        'webhook',
        'admission-policies',
      );
    const first = await install();
    assert.equal(first.code, 0, first.stdout + first.stderr);
    const changed = first.stdout.split('\n').filter(line => line.endsWith(' serverside-applied'));
    assert.ok(
      changed.some(line =>
        line.startsWith('customresourcedefinition.apiextensions.k8s.io/maintenances.drydock.dev '),
      ),
      first.stdout,
    );
    assert.ok(!first.stdout.includes('left out'), first.stdout);
    await until('the field selector to be served', async () => {
      const { status } = await api.call(
        'GET',
        '/apis/drydock.dev/v1alpha1/maintenances?fieldSelector=spec.nodeName%3Dnone',
      );
      return status === 200;
    });
    const again = await install();
    assert.ok(
      again.stdout
        .trimEnd()
        .split('\n')
        .filter(line => !line.includes(': kept, because it is installed;'))
        .every(line => line.endsWith(' unchanged')),
      again.stdout,
    );
  });
});
