import assert from 'node:assert/strict';
import { after, before, describe, type TestContext, test } from 'node:test';
import type { MaintenanceStatus } from '@drydock/apis/schema';
import { create, podsReady } from '../control-plane/objects/cluster.ts';
import { budget, namespace } from '../control-plane/objects/manifests.ts';
import { waitFor } from '../control-plane/wait.ts';
import { maintenance, maintenancePath, remove } from '../operator/harness/look.ts';
import { type NodeBed, skipOf, startBed } from './bed.ts';
import { chargedOf, figure, processesOf, rssOf, seconds, tokenOf } from './figures.ts';
import { realDeployment } from './pods.ts';
import { installByChart, leader, type Replica, replicas } from './product.ts';

/**
 * DRYDOCK_TEST_HOURS=1: maintenances one after the other for so long, and what they do to the
 * memory of the replicas.
 */

const hours = Number(process.env['DRYDOCK_TEST_HOURS'] ?? '0');
// A pod's token is for 3607 s: an hour ends after that, with the replicas on the tokens that their
// kubelets have fetched meanwhile.
const minutesInAll = hours < 1 ? hours * 60 : hours * 60 + 2;
const leftOut = 'an hour of maintenances left out: DRYDOCK_TEST_HOURS=1 npm run test:nodes runs it';
const started =
  hours > 0
    ? await startBed({ nodes: 4, product: true })
    : ({ kind: 'left-out', why: leftOut } as const);
const skip = hours > 0 ? skipOf(started) : leftOut;
const bed = started as NodeBed;
const space = 'hours';
/**
 * Among thousands of pods there may be one that its kubelet takes a minute and more to end: that is
 * a figure, and not the end of the hour.
 */
const patience = { deadlineMs: 300_000 };

type Sample = {
  readonly minute: number;
  readonly rounds: number;
  readonly leader: number;
  readonly standby: number;
  readonly charged: number;
  readonly tokens: readonly string[];
};

function median(numbers: readonly number[]): number {
  return numbers.toSorted((one, other) => one - other)[Math.floor(numbers.length / 2)] ?? 0;
}

describe('hours of maintenances', { skip, timeout: (hours + 0.2) * 3_600_000 }, () => {
  const { api } = bed;
  let placed: readonly Replica[] = [];
  before(async () => {
    await installByChart(bed);
    const first = await leader(api);
    placed = [
      first,
      ...(await replicas(api)).filter(pod => pod.metadata.uid !== first.metadata.uid),
    ];
    await create(api, namespace(space), budget('web', { namespace: space, maxUnavailable: 4 }));
    await create(api, realDeployment('web', 12, { namespace: space, termSeconds: 0.5 }));
    await podsReady(api, space, 12, { deadlineMs: 90_000 });
  });
  after(() => bed.stop());

  const drains: number[] = [];

  /** In turns on the nodes without replicas, which stay the same processes so. */
  const once = async (at: number): Promise<void> => {
    const free = bed.nodes.filter(({ name }) => !placed.some(({ spec }) => spec.nodeName === name));
    const nodeName = free[at % free.length]?.name ?? '';
    await create(api, maintenance('hourly', { nodeName }));
    const since = performance.now();
    await waitFor(
      `round ${at} to be Drained`,
      async () => {
        const { status } = await api.get<{ readonly status?: MaintenanceStatus }>(
          maintenancePath('hourly'),
        );
        return status?.phase === 'Drained' ? { done: undefined } : { yet: JSON.stringify(status) };
      },
      patience,
    );
    drains.push(performance.now() - since);
    await remove(api, maintenancePath('hourly'));
    await podsReady(api, space, 12, patience);
  };

  /**
   * How often the API server has read a token of a service account (once in ten seconds), and how
   * often one older than its 3607 s.
   */
  const tokensSeen = async (): Promise<readonly number[]> => {
    const { body } = await api.call('GET', '/metrics');
    return ['valid', 'stale'].map(kind =>
      Number(
        new RegExp(`^serviceaccount_${kind}_tokens_total (\\S+)$`, 'm').exec(String(body))?.[1] ??
          Number.NaN,
      ),
    );
  };

  /**
   * The API server takes a token for a year after its time, and only counts those that come late.
   */
  const tokensOf = async (
    t: TestContext,
    samples: readonly Sample[],
    rounds: number,
  ): Promise<void> => {
    const renewed = placed.map((_, at) =>
      samples.find(({ tokens }) => tokens[at] !== samples[0]?.tokens[at]),
    );
    for (const found of renewed)
      figure(
        t,
        'another token',
        found
          ? `minute ${found.minute.toFixed(1)}, ${rounds - found.rounds} maintenances after it`
          : 'none',
      );
    const [valid = 0, stale] = await tokensSeen();
    figure(t, 'tokens that the API server has read', `${valid}, ${stale} of them too old`);
    if (hours < 1) return;
    assert.ok(
      renewed.every(found => found !== undefined),
      'each replica has another token',
    );
    assert.ok(valid > 0);
    assert.equal(stale, 0);
  };

  test('the memory of the replicas does not grow', async t => {
    const pids = placed.map(pod => processesOf(pod)[0] ?? 0);
    const [begin, samples]: readonly [number, Sample[]] = [performance.now(), []];
    const minutes = (): number => (performance.now() - begin) / 60_000;
    let rounds = 0;
    try {
      while (minutes() < minutesInAll) {
        await once(rounds);
        rounds += 1;
        if (minutes() * 2 < samples.length) continue;
        const [leading = 0, standby = 0] = pids.map(rssOf);
        const tokens = placed.map(tokenOf);
        samples.push({
          minute: minutes(),
          rounds,
          leader: leading,
          standby,
          charged: chargedOf(pids[0] ?? 0),
          tokens,
        });
      }
    } finally {
      // An hour that ends early prints its figures, too.
      figure(t, 'maintenances', `${rounds} in ${minutes().toFixed(0)} minutes`);
      figure(
        t,
        'drains: median, longest',
        `${seconds(median(drains))}, ${seconds(Math.max(0, ...drains))}`,
      );
      for (const { minute, leader, standby, charged } of samples)
        figure(
          t,
          `minute ${minute.toFixed(1)}`,
          [leader, standby, charged].map(mib => `${mib.toFixed(0)} MiB`).join(', '),
        );
    }
    assert.deepEqual(
      placed.map(pod => processesOf(pod)[0]),
      pids,
      'the same processes',
    );
    const quarter = Math.floor(samples.length / 4);
    const [early, late] = [samples.slice(quarter, 2 * quarter), samples.slice(-quarter)].map(part =>
      median(part.map(one => one.leader)),
    );
    figure(
      t,
      'leader, median RSS of the second and of the last quarter',
      `${early?.toFixed(0)} and ${late?.toFixed(0)} MiB`,
    );
    await tokensOf(t, samples, rounds);
    assert.ok((late ?? 0) < 1.15 * (early ?? 0), 'the leader needs more and more memory');
  });
});
