import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { create, podsReady } from '../control-plane/cluster.ts';
import { budget, namespace } from '../control-plane/manifests.ts';
import { maintenance, maintenancePath, remove, untilMaintenance } from '../operator/look.ts';
import { type NodeBed, skipOf, startBed } from './bed.ts';
import { chargedOf, figure, processesOf, rssOf } from './figures.ts';
import { realDeployment } from './pods.ts';
import { installByChart, leader, type Replica, replicas } from './product.ts';

/** DRYDOCK_TEST_HOURS=1: maintenances one after the other for so long, and what they do to the memory of the replicas. */

const hours = Number(process.env['DRYDOCK_TEST_HOURS'] ?? '0');
const started =
  hours > 0
    ? await startBed({ nodes: 4, product: true })
    : ({ kind: 'left-out', why: 'an hour of maintenances: DRYDOCK_TEST_HOURS=1 npm run test:nodes runs it' } as const);
const skip = skipOf(started);
const bed = started as NodeBed;
const space = 'hours';

type Sample = { readonly minute: number; readonly leader: number; readonly standby: number; readonly charged: number };

const median = (numbers: readonly number[]): number => numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;

describe('hours of maintenances', { skip, timeout: (hours + 0.2) * 3_600_000 }, () => {
  const { api } = bed;
  let placed: readonly Replica[] = [];
  before(async () => {
    await installByChart(bed);
    const first = await leader(api);
    placed = [first, ...(await replicas(api)).filter(pod => pod.metadata.uid !== first.metadata.uid)];
    await create(api, namespace(space), budget('web', { namespace: space, maxUnavailable: 4 }));
    await create(api, realDeployment('web', 12, { namespace: space, termSeconds: 0.5 }));
    await podsReady(api, space, 12, { deadlineMs: 90_000 });
  });
  after(() => bed.stop());

  /** In turns on the nodes without replicas, which stay the same processes so. */
  const once = async (at: number): Promise<void> => {
    const free = bed.nodes.filter(({ name }) => !placed.some(({ spec }) => spec.nodeName === name));
    const nodeName = free[at % free.length]?.name ?? '';
    await create(api, maintenance('hourly', { nodeName }));
    await untilMaintenance(api, 'hourly', 'Drained');
    await remove(api, maintenancePath('hourly'));
    await podsReady(api, space, 12, { deadlineMs: 90_000 });
  };

  test('the memory of the replicas does not grow', async t => {
    const pids = placed.map(pod => processesOf(pod)[0] ?? 0);
    const [begin, samples]: readonly [number, Sample[]] = [performance.now(), []];
    const minutes = (): number => (performance.now() - begin) / 60_000;
    let rounds = 0;
    while (minutes() < hours * 60) {
      await once(rounds);
      rounds += 1;
      if (minutes() * 2 < samples.length) continue;
      const [leading = 0, standby = 0] = pids.map(rssOf);
      samples.push({ minute: minutes(), leader: leading, standby, charged: chargedOf(pids[0] ?? 0) });
    }
    figure(t, 'maintenances', `${rounds} in ${minutes().toFixed(0)} minutes`);
    for (const { minute, leader, standby, charged } of samples)
      figure(t, `minute ${minute.toFixed(1)}`, [leader, standby, charged].map(mib => `${mib.toFixed(0)} MiB`).join(', '));
    assert.deepEqual(
      placed.map(pod => processesOf(pod)[0]),
      pids,
      'the same processes',
    );
    const quarter = Math.floor(samples.length / 4);
    const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)].map(part => median(part.map(one => one.leader)));
    figure(t, 'leader, median RSS of the second and of the last quarter', `${early?.toFixed(0)} and ${late?.toFixed(0)} MiB`);
    assert.ok((late ?? 0) < 1.15 * (early ?? 0), 'the leader needs more and more memory');
  });
});
