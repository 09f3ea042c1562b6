import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create, getNode, nodePath, nodesReady } from '../../control-plane/objects/cluster.ts';
import type { List, Metadata } from '../../control-plane/objects/objects.ts';
import { until } from '../../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { isHeld, ourTaints, untilGone } from '../harness/look.ts';
import { dueNode, type MaintenancePlan, plan, planPath, untilPlan, Work } from './plan-work.ts';

/**
 * Plans that undo each other's work, and machines that somebody else installs anew, on a real
 * control plane.
 */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const maintenances = '/apis/drydock.dev/v1alpha1/maintenances';

describe('plans beside others who change nodes', { skip, concurrency: 2, timeout: 240_000 }, () => {
  const { api } = harness;
  /** By group: the kernel that the work of the plan whose turn it is brings. */
  const kernels = new Map<string, string>();
  let work: Work;
  before(async () => {
    await harness.startOperator();
    work = new Work(api, name => ({ kernel: kernels.get(name.replace(/-\d+$/, '')) ?? '6.12.9' }));
  });
  after(async () => {
    await work.stop();
    await harness.stop();
  });

  test('opposite aims are told with the name of the other plan, and neither goes on by itself', async () => {
    const names = ['rival-1', 'rival-2'];
    for (const name of names) await create(api, dueNode(name, { labels: { group: 'rival' } }));
    await nodesReady(api, names);
    const wants = (version: string): object => ({
      due: { expression: `node.status.nodeInfo.kernelVersion != '${version}'` },
    });
    await create(api, plan('newer', 'rival', wants('6.12.9')));
    await untilPlan(api, 'newer', 'complete', ({ phase }) => phase === 'Complete');
    kernels.set('rival', '6.1.0');
    await create(api, plan('older', 'rival', wants('6.1.0')));
    await untilPlan(api, 'older', 'complete', ({ phase }) => phase === 'Complete');
    const { conditions = [], message } = await untilPlan(
      api,
      'newer',
      'contested',
      ({ conditions: all = [] }) =>
        all.some(({ type, message: text }) => type === 'Contested' && text.includes('rival-2')),
    );
    assert.match(
      conditions.find(({ type }) => type === 'Contested')?.message ?? '',
      /^2 nodes that were done are due again, and plan older was done with them since \(rival-1, rival-2\)/,
    );
    assert.match(message ?? '', /2 are due again \(plan older was done with 2 of them since\)/);
    const { stdout } = await harness.drydock('why', 'rival-1');
    assert.match(
      stdout,
      /MaintenancePlan newer has finished with it .* plan older was done with them since/,
    );
    for (const name of names) assert.equal(work.counts.get(name), 2, name);
  });

  test('a machine that is installed anew keeps its Maintenance, and is done under its new Node object', async () => {
    await create(api, dueNode('anew-1', { labels: { group: 'anew' } }));
    await nodesReady(api, ['anew-1']);
    const external = {
      finished: { expression: "node.status.nodeInfo.kernelVersion == '6.12.9'" },
      timeoutSeconds: 120,
    };
    await create(api, plan('anew', 'anew', { work: { external }, soakSeconds: 2 }));
    await untilPlan(api, 'anew', 'at work', ({ inFlight }) => inFlight?.[0]?.state === 'Working');
    const made = async (): Promise<readonly string[]> =>
      (await api.get<List<{ readonly metadata: Metadata }>>(maintenances)).items.flatMap(
        ({ metadata: { name, uid } }) => (name.startsWith('anew') ? uid : []),
      );
    const before_ = await made();
    await api.delete(nodePath('anew-1'));
    await untilGone(api, nodePath('anew-1'));
    await untilPlan(api, 'anew', 'waiting for its machine', ({ waiting = [] }) =>
      waiting.some(({ message }) => message.includes('may register again')),
    );
    await create(api, dueNode('anew-1', { labels: { group: 'anew' } }));
    await until('the new node to be held', async () =>
      isHeld(await getNode(api, 'anew-1'), ourTaints),
    );
    assert.deepEqual(await made(), before_, 'whoever works for it is not asked twice');
    await api.patch(`${nodePath('anew-1')}/status`, {
      status: { nodeInfo: { kernelVersion: '6.12.9' } },
    });
    const { nodes } = await untilPlan(api, 'anew', 'complete', ({ phase }) => phase === 'Complete');
    assert.deepEqual([nodes?.done, nodes?.failed], [1, 0]);
    await until('it to be free', async () => !isHeld(await getNode(api, 'anew-1'), ourTaints));
    assert.equal((await api.get<MaintenancePlan>(planPath('anew'))).status?.inFlight?.length, 0);
  });
});
