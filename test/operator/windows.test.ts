import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { MaintenanceWindowStatus } from '@drydock/apis/schema';
import { budgetAllows, create, getNode } from '../control-plane/objects/cluster.ts';
import { budget, namespace } from '../control-plane/objects/manifests.ts';
import { until, waitFor } from '../control-plane/wait.ts';
import { type OperatorHarness, skipOf, startHarness } from './harness/harness.ts';
import {
  isHeld,
  maintenance,
  maintenancePath,
  makeNode,
  ourTaints,
  podAt,
  remove,
  untilFace,
  untilMaintenance,
  untilPods,
} from './harness/look.ts';
import { inSeconds, windowOf, windows } from './harness/window.ts';

/**
 * Windows: when a Maintenance begins, what becomes of it when a window closes, and what people are
 * told.
 */

const started = await startHarness();
const skip = skipOf(started);
const harness = started as OperatorHarness;

describe('maintenance windows', { skip, timeout: 180_000 }, () => {
  const { api } = harness;
  before(() => harness.startOperator());
  after(() => harness.stop());

  const untilWindow = (
    name: string,
    isWanted: (status: MaintenanceWindowStatus) => boolean,
  ): Promise<MaintenanceWindowStatus> =>
    waitFor(`window ${name}`, async () => {
      const { status } = await api.get<{ readonly status?: MaintenanceWindowStatus }>(
        `${windows}/${name}`,
      );
      return status !== undefined && isWanted(status)
        ? { done: status }
        : { yet: JSON.stringify(status) };
    });

  const labelled = async (name: string): Promise<object> =>
    makeNode(api, name, { labels: { 'kubernetes.io/hostname': name } });

  test('a Maintenance waits for the window of its node, says so, and begins by itself', async () => {
    const face = await labelled('w-waits');
    const from = inSeconds(8);
    await create(
      api,
      windowOf('opens-soon', 'w-waits', {
        openings: [{ from, to: inSeconds(7200) }],
        expectedDuration: '5m',
      }),
    );
    await create(api, maintenance('w-waits'));
    const waiting = await untilMaintenance(
      api,
      'w-waits',
      'Pending',
      ({ message }) => message !== undefined,
    );
    assert.match(waiting.message ?? '', /^begins at .*, when opens-soon allows it$/);
    assert.equal(waiting.scheduledTime, `${from.slice(0, 19)}Z`);
    assert.equal(isHeld(await getNode(api, 'w-waits'), ourTaints), false);
    assert.equal(
      (await untilWindow('opens-soon', ({ open }) => open === false)).next?.startTime,
      `${from.slice(0, 19)}Z`,
    );
    await untilMaintenance(api, 'w-waits', 'Drained');
    assert.ok(Date.now() >= Date.parse(from), 'not before');
    await untilWindow('opens-soon', ({ open }) => open === true);
    await remove(api, maintenancePath('w-waits'));
    await untilFace(api, 'w-waits', face);
    await remove(api, `${windows}/opens-soon`);
  });

  test('Maintenances that are applied right after their windows begin in no other moment', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `w-beside-${index}`);
    await Promise.all(names.map(labelled));
    const from = inSeconds(3600);
    await Promise.all(
      names.map(async name => {
        await create(
          api,
          windowOf(name, name, {
            openings: [{ from, to: inSeconds(7200) }],
            expectedDuration: '5m',
          }),
        );
        await create(api, maintenance(name));
      }),
    );
    for (const name of names) {
      const { message = '' } = await untilMaintenance(
        api,
        name,
        'Pending',
        status => status.message !== undefined,
      );
      assert.ok(message.endsWith(`when ${name} allows it`), message);
      assert.equal(isHeld(await getNode(api, name), ourTaints), false, name);
    }
    for (const name of names) {
      await remove(api, maintenancePath(name));
      await remove(api, `${windows}/${name}`);
    }
  });

  test('nothing begins that would not end inside, and a window that is made longer lets it begin at once', async () => {
    await labelled('w-short');
    await create(
      api,
      windowOf('too-short', 'w-short', {
        openings: [{ from: inSeconds(-60), to: inSeconds(600) }],
        expectedDuration: '20m',
      }),
    );
    await create(api, maintenance('w-short'));
    const waiting = await untilMaintenance(
      api,
      'w-short',
      'Pending',
      ({ message }) => message !== undefined,
    );
    assert.match(
      waiting.message ?? '',
      /too-short is long enough: 20 min are expected, the longest is (9|10) min/,
    );
    await api.patch(`${windows}/too-short`, {
      spec: { openings: [{ from: inSeconds(-60), to: inSeconds(7200) }] },
    });
    await untilMaintenance(api, 'w-short', 'Drained');
    await remove(api, maintenancePath('w-short'));
    await remove(api, `${windows}/too-short`);
  });

  test('who ignores windows begins at once, in a freeze too', async () => {
    await labelled('w-now');
    await create(
      api,
      windowOf('frozen', 'w-now', {
        freezes: [{ from: inSeconds(-60), to: inSeconds(7200), reason: 'sale' }],
      }),
    );
    await create(api, maintenance('w-now'));
    const waiting = await untilMaintenance(
      api,
      'w-now',
      'Pending',
      ({ message }) => message !== undefined,
    );
    assert.match(waiting.message ?? '', /frozen until .* \(sale\)/);
    await api.patch(maintenancePath('w-now'), { spec: { start: { windows: 'Ignore' } } });
    await untilMaintenance(api, 'w-now', 'Drained');
    await remove(api, maintenancePath('w-now'));
    await remove(api, `${windows}/frozen`);
  });

  test('a drain that is under way when its window closes: it goes on, pauses, or gives the node back, as the window says', async () => {
    for (const [atEnd, name] of [
      ['Continue', 'w-goes-on'],
      ['Pause', 'w-pauses'],
      ['Release', 'w-gives'],
    ] as const) {
      await labelled(name);
      await create(
        api,
        namespace(name),
        podAt(name, 'guarded', { namespace: name }),
        budget('guarded', { namespace: name, minAvailable: 1 }),
      );
      await untilPods(api, name, 1);
      await budgetAllows(api, name, 'guarded', 0);
      await create(
        api,
        windowOf(name, name, {
          openings: [
            { from: inSeconds(-60), to: inSeconds(12) },
            { from: inSeconds(3600), to: inSeconds(7200) },
          ],
          atEnd,
          expectedDuration: '1s',
        }),
      );
      await create(api, maintenance(name));
    }
    await Promise.all(
      ['w-goes-on', 'w-pauses', 'w-gives'].map(name => untilMaintenance(api, name, 'Draining')),
    );
    await untilMaintenance(
      api,
      'w-pauses',
      'Draining',
      ({ message }) => message?.startsWith('paused: the window has closed; continues at ') === true,
    );
    await untilMaintenance(
      api,
      'w-gives',
      'Pending',
      ({ message }) => message?.startsWith('released: the window has closed') === true,
    );
    await until(
      'the node to be released',
      async () => !isHeld(await getNode(api, 'w-gives'), ourTaints),
    );
    assert.equal(isHeld(await getNode(api, 'w-pauses'), ourTaints), true, 'it stays held');
    const relaxed = ['w-goes-on', 'w-pauses'].map(name =>
      api.patch(`/apis/policy/v1/namespaces/${name}/poddisruptionbudgets/guarded`, {
        spec: { minAvailable: 0 },
      }),
    );
    await Promise.all(relaxed);
    await untilMaintenance(api, 'w-goes-on', 'Drained');
    assert.equal(
      (await untilMaintenance(api, 'w-pauses', 'Draining')).pods?.gone,
      0,
      'nothing is evicted while it is paused',
    );
    await api.patch(`${windows}/w-pauses`, {
      spec: { openings: [{ from: inSeconds(-60), to: inSeconds(3600) }] },
    });
    await untilMaintenance(api, 'w-pauses', 'Drained');
    await Promise.all(
      ['w-goes-on', 'w-pauses', 'w-gives'].map(name => remove(api, maintenancePath(name))),
    );
    await Promise.all(
      ['w-goes-on', 'w-pauses', 'w-gives'].map(name => remove(api, `${windows}/${name}`)),
    );
  });

  test('a mistake in a window is told, and nothing begins by mistake', async () => {
    await labelled('w-wrong');
    await create(
      api,
      windowOf('wrong', 'w-wrong', {
        openings: [{ cron: '61 2 * * *', duration: '1h' }],
        timeZone: 'Europe/Berlin',
      }),
    );
    const { conditions = [] } = await untilWindow(
      'wrong',
      status => (status.conditions ?? []).length > 0,
    );
    const valid = conditions.find(({ type }) => type === 'Valid');
    assert.equal(valid?.status, 'False');
    assert.match(
      valid?.message ?? '',
      /^spec\.openings\[0\]: cron "61 2 \* \* \*" cannot be read: /,
    );
    await create(api, maintenance('w-wrong'));
    await untilMaintenance(api, 'w-wrong', 'Pending', ({ message }) => message !== undefined);
    await remove(api, maintenancePath('w-wrong'));
    await remove(api, `${windows}/wrong`);
  });

  test('what cannot be meant is refused by the API server', async () => {
    const refused = async (spec: object): Promise<string> => {
      const { status, body } = await api.call('POST', windows, {
        apiVersion: 'drydock.dev/v1alpha1',
        kind: 'MaintenanceWindow',
        metadata: { name: 'refused' },
        spec,
      });
      assert.equal(status, 422, JSON.stringify(body));
      return (body as { readonly message: string }).message;
    };
    assert.match(
      await refused({ openings: [{ cron: '0 2 * * *' }] }),
      /duration is required with cron/,
    );
    assert.match(
      await refused({
        openings: [{ cron: '0 2 * * *', weekdays: ['Mon'], start: '02:00', duration: '1h' }],
      }),
      /set exactly one of: cron with duration/,
    );
    assert.match(
      await refused({ openings: [{ weekdays: ['Mon'], duration: '1h' }] }),
      /weekdays and start need each other/,
    );
    assert.match(
      await refused({ openings: [{ from: '2026-12-24' }] }),
      /from and to need each other/,
    );
    assert.match(
      await refused({ openings: [{ weekdays: ['Mon'], start: '25:00', duration: '1h' }] }),
      /start/,
    );
  });

  test('drydock windows shows the next openings, of a window and of a node', async () => {
    await labelled('w-shown');
    await create(
      api,
      windowOf('nights', 'w-shown', {
        timeZone: 'Europe/Berlin',
        openings: [
          {
            weekdays: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'],
            start: '22:00',
            duration: '6h',
          },
        ],
      }),
      windowOf('year-end', 'w-shown', {
        timeZone: 'Europe/Berlin',
        freezes: [{ from: '2040-12-20', to: '2041-01-02' }],
      }),
    );
    const all = await harness.drydock('windows');
    assert.equal(all.code, 0, all.stderr);
    assert.match(all.stdout, /^WINDOW +ZONE +NOW +FROM +TO\n/);
    assert.match(
      all.stdout,
      /nights +Europe\/Berlin +(closed|open until \S+) +\d{4}-\d\d-\d\dT\d\d:\d\d\+0[12]:00 +\d{4}-\d\d-\d\dT04:00\+0[12]:00/,
    );
    assert.match(all.stdout, /year-end +Europe\/Berlin +always open/);
    const node = await harness.drydock('windows', 'w-shown', '--count', '2', '-o', 'json');
    const [shown] = (
      JSON.parse(node.stdout) as {
        readonly windows: readonly {
          readonly name: string;
          readonly openings: readonly object[];
        }[];
      }
    ).windows;
    assert.equal(shown?.name, 'nights,year-end');
    assert.equal(shown?.openings.length, 2);
    const stranger = await harness.drydock('windows', 'nobody');
    assert.deepEqual(
      [stranger.code, stranger.stderr.trim()],
      [1, 'Error from server (NotFound): nodes "nobody" not found'],
    );
    assert.equal((await harness.drydock('windows', '--count', '0')).code, 2);
    for (const name of ['nights', 'year-end']) await remove(api, `${windows}/${name}`);
    assert.match((await harness.drydock('windows')).stdout, /There is no MaintenanceWindow/);
  });
});
