import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { cordon, create, getNode, nodesReady } from '../../control-plane/objects/cluster.ts';
import { type OperatorHarness, skipOf, startHarness } from '../harness/harness.ts';
import { isHeld, ourTaints } from '../harness/look.ts';
import { inSeconds } from '../harness/window.ts';
import { type Deed, dueNode, plan, planPath, untilPlan, Work } from './plan-work.ts';

/**
 * Sixty nodes in three zones on a real control plane, with all that keeps a plan waiting, and a
 * second plan beside it.
 */

const started = await startHarness({ roles: ['plans'] });
const skip = skipOf(started);
const harness = started as OperatorHarness;

const group = 'fleet';
const zones = ['a', 'b', 'c'];
const names = Array.from(
  { length: 60 },
  (_, index) => `${group}-${String(index + 1).padStart(2, '0')}`,
);
const [canary = '', broken = '', cordoned = ''] = names;

type Listed = {
  readonly items: readonly { readonly spec: { readonly unschedulable?: boolean } }[];
};

describe('a fleet', { skip, timeout: 300_000 }, () => {
  const { api } = harness;
  const deeds = new Map<string, Deed>([[broken, { hangs: true }]]);
  let work: Work;
  const state = { most: 0, stopped: false };
  let watching: Promise<void> = Promise.resolve();

  /** How many are out at once, whoever took them. */
  const watch = async (): Promise<void> => {
    while (!state.stopped) {
      const { items } = await api.get<Listed>('/api/v1/nodes');
      const out = items.filter(({ spec }) => spec.unschedulable === true);
      state.most = Math.max(state.most, out.length);
      await new Promise(resolve => setTimeout(resolve, 40));
    }
  };

  before(async () => {
    for (const [index, name] of names.entries()) {
      await create(
        api,
        dueNode(name, { labels: { group, 'topology.kubernetes.io/zone': zones[index % 3] ?? '' } }),
      );
    }
    await nodesReady(api, names);
    await cordon(api, cordoned);
    await harness.startOperator();
    work = new Work(api, name => deeds.get(name) ?? { kernel: '6.12.9' });
    watching = watch();
  });
  after(async () => {
    state.stopped = true;
    await watching;
    await work.stop();
    await harness.stop();
  });

  test('goes through a closed window, a canary with its approval, a foreign cordon and a node that never comes back, and passes no limit', async t => {
    await create(api, {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceWindow',
      metadata: { name: 'fleet' },
      spec: { kinds: ['MaintenancePlan'], openings: [{ from: inSeconds(3), to: inSeconds(3600) }] },
    });
    const limits = {
      concurrency: { maxInFlight: '20%', maxUnavailable: 8 },
      expectedSeconds: 30,
      order: { by: ['Zone', 'Name'] as ('Zone' | 'Name')[] },
    };
    const job = {
      podSpec: { containers: [{ name: 'up', image: 'example.test/kernel:1' }] },
      rebootsNode: true,
      timeoutSeconds: 15,
    };
    const kernel = {
      ...limits,
      work: { job },
      stages: [{ name: 'canary', limit: 1, approveAfter: true }],
      halt: { maxFailures: 3, inFirstStage: 0 },
    };
    await create(api, plan('kernel', group, kernel));
    const closed = await untilPlan(
      api,
      'kernel',
      'waiting for its window',
      ({ waitingFor }) => waitingFor === 'Window',
    );
    assert.equal(closed.nodes?.inFlight, 0);
    const { run } = await untilPlan(
      api,
      'kernel',
      'waiting for an approval',
      ({ phase }) => phase === 'AwaitingApproval',
    );
    assert.equal(work.counts.get(canary), 1);
    await create(api, {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenanceApproval',
      metadata: { name: 'kernel' },
      spec: { planName: 'kernel', runID: run?.id, revision: run?.revision, stage: 'canary' },
    });
    const begun = performance.now();
    const sweep = {
      due: { expression: 'true' },
      done: { expression: 'true' },
      work: { none: {} },
      ...limits,
    };
    await create(
      api,
      plan('sweep', group, { ...sweep, concurrency: { maxInFlight: 4, maxUnavailable: 8 } }),
    );
    for (const name of ['kernel', 'sweep']) {
      const { waiting } = await untilPlan(
        api,
        name,
        'waiting for the cordon alone',
        ({ nodes, waitingFor }) => nodes?.inFlight === 0 && waitingFor === 'HeldBy',
      );
      assert.equal(waiting?.find(({ reason }) => reason === 'HeldBy')?.node, cordoned);
    }
    t.diagnostic(
      `60 nodes, two plans: ${((performance.now() - begun) / 1000).toFixed(1)} s, ${state.most} out at once at most`,
    );
    await cordon(api, cordoned, false);
    for (const name of ['kernel', 'sweep'])
      await untilPlan(api, name, 'over', ({ phase }) => phase === 'Complete');
    const { nodes, failures } = await untilPlan(api, 'kernel', 'over', () => true);
    assert.deepEqual([nodes?.done, nodes?.failed, failures?.[0]?.node], [59, 1, broken]);
    assert.equal(
      isHeld(await getNode(api, broken), ourTaints),
      true,
      'nobody knows what has become of it',
    );
    for (const name of names) assert.equal(work.counts.get(name), 1, `${name}: one pod`);
    assert.ok(state.most <= 8, `${state.most} nodes were out at once`);
    assert.equal((await api.call('GET', planPath('kernel'))).status, 200);
  });
});
