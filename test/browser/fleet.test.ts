import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { maintenance, planAdapter } from '@drydock/apis';
import { type Dashboard, startDashboard } from '@drydock/dashboard';
import { inProcess } from '@drydock/kube-sim';
import { PanicHandler, silentLog, systemClock } from '@drydock/utils';
import type { Browser, Page } from 'playwright-core';
import { type Fleet, makeFleet } from '../../bench/dashboard/fleet.ts';
import { launch, leftOut } from './browser.ts';
import { focus } from './in-page.ts';
import { isSound, newPage, phone, pressUntil } from './pages.ts';

/** The view of a large cluster in a real browser. */

const nodes = 1000;

describe('a fleet in a browser', { skip: leftOut, timeout: 120_000 }, () => {
  let fleet: Fleet;
  let dashboard: Dashboard;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  before(async () => {
    fleet = makeFleet(nodes, 10 * nodes);
    const watcher = inProcess(fleet.cluster, { userAgent: 'test' });
    const kinds = { adapters: [maintenance('medik8s-leases')], plans: planAdapter };
    const defects = new PanicHandler({ log: silentLog });
    const at = {
      cluster: 'large',
      port: 0,
      clock: systemClock,
      log: silentLog,
      defects,
      access: { kind: 'read-only' },
    } as const;
    dashboard = await startDashboard({ watcher, ...kinds, ...at });
    browser = await launch();
    page = await newPage(browser, complaints);
  });

  after(async () => {
    await browser?.close();
    await dashboard?.close();
  });

  const allCells = (of: Page): Promise<unknown> =>
    of.waitForFunction(count => document.querySelectorAll('.cells .cell').length === count, nodes);

  const groups = (): Promise<readonly string[]> =>
    page
      .locator('.fleet-group')
      .evaluateAll(all =>
        all.map(group => (group instanceof HTMLElement ? (group.dataset['group'] ?? '') : '')),
      );

  const statesIn = (group: string): Promise<readonly string[]> =>
    page
      .locator(`.fleet-group[data-group="${group}"] .cells .cell`)
      .evaluateAll(cells => cells.map(cell => cell.className.slice('cell '.length)));

  test('every node is a cell, those that need somebody first, and no pod is drawn', async () => {
    await page.goto(dashboard.url);
    await page.locator('.badge', { hasText: 'read-only' }).waitFor();
    await allCells(page);
    assert.deepEqual(
      [await page.locator('.pod:not(.sample)').count(), await page.locator('.node').count()],
      [0, 0],
    );
    const states = await statesIn((await groups())[0] ?? '');
    const order = [
      'blocked',
      'failed',
      'waiting',
      'draining',
      'held',
      'returning',
      'unready',
      'cordoned',
      'service',
    ];
    assert.deepEqual(
      states,
      states.toSorted((one, other) => order.indexOf(one) - order.indexOf(other)),
    );
    assert.equal(states[0], 'blocked');
    await isSound(page, 'in the light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await isSound(page, 'in the dark');
    await page.emulateMedia({ colorScheme: 'light' });
  });

  test('a node is found and opened, its pods are told, and one that changes is seen', async () => {
    await page.getByLabel('Find a node').fill('node-777');
    await page.waitForFunction(() => document.querySelectorAll('.cells .cell').length === 1);
    await page.locator('#node-node-777').click();
    await page.locator('.pod-list caption', { hasText: '10 pods' }).waitFor();
    await page
      .locator('.fleet-told', { hasText: 'node-777 In service' })
      .filter({ hasText: '10 ready' })
      .waitFor();
    assert.equal(await page.locator('.cell[aria-current]').getAttribute('data-node'), 'node-777');
    fleet.setReady(777, false);
    await page.locator('.pod-list td', { hasText: 'starting' }).waitFor();
    await page.locator('.fleet-told', { hasText: '1 starting, 9 ready' }).waitFor();
    await page.getByRole('button', { name: 'Preview a drain…' }).click();
    await page.locator('.prospect', { hasText: 'pods will be evicted' }).waitFor();
    assert.equal(
      await page.getByRole('button', { name: 'Start maintenance' }).count(),
      0,
      'looking only',
    );
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.locator('.details').waitFor({ state: 'detached' });
    await page.getByLabel('Find a node').fill('');
    await allCells(page);
  });

  test('with the keyboard: Tab reaches one cell, arrows the others, Enter opens and Escape closes', async () => {
    await page.getByLabel('Group by').focus();
    await pressUntil(page, 'Tab', ({ id }) => id.startsWith('node-'));
    const at = async (key: string): Promise<string> => {
      await page.keyboard.press(key);
      const { id, isSeen } = await page.evaluate(focus);
      assert.ok(isSeen, key);
      return id;
    };
    const first = await at('Home');
    const right = await at('ArrowRight');
    assert.notEqual(right, first);
    assert.notEqual(await at('ArrowDown'), right);
    assert.deepEqual([await at('ArrowUp'), await at('ArrowLeft')], [right, first]);
    const [one = '', next = ''] = [await at('End'), await at('ArrowRight')].map(id => `#${id}`);
    const isLastOf = (id: string): Promise<boolean> =>
      page.locator(id).evaluate(cell => cell.nextElementSibling === null);
    const isFirstOf = (id: string): Promise<boolean> =>
      page.locator(id).evaluate(cell => cell.previousElementSibling === null);
    assert.deepEqual(
      [await isLastOf(one), one === next || (await isFirstOf(next))],
      [true, true],
      'over the edge is the next group',
    );
    const beside = next.slice(1);
    await page.keyboard.press('Enter');
    await page.locator('.details').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.details').waitFor({ state: 'detached' });
    assert.equal((await page.evaluate(focus)).id, beside);
    assert.equal(await page.locator('.cell[tabindex="0"]').count(), 1);
  });

  test('a cell that changes its place keeps the focus', async () => {
    await page.locator('#node-node-500').focus();
    fleet.setCordoned(500, true);
    await page.locator('#node-node-500.cordoned').waitFor();
    assert.equal((await page.evaluate(focus)).id, 'node-node-500');
  });

  test('groups are chosen and zoomed into, the address keeps that, and Escape leaves', async () => {
    await page.getByLabel('Group by').selectOption('pool');
    await page.locator('.fleet-group[data-group="pool-7"]').waitFor();
    await page.getByRole('button', { name: 'Zoom into pool-3' }).click();
    await page.locator('.fleet-group.zoomed .node').nth(124).waitFor();
    assert.match(page.url(), /#by=pool&in=pool-3$/);
    await isSound(page, 'zoomed');
    await page.reload();
    await page.locator('.fleet-group.zoomed .node').nth(124).waitFor();
    assert.deepEqual(await groups(), ['pool-3']);
    await page.locator('.fleet-group .node .pod-counts', { hasText: '10 ready' }).first().waitFor();
    await page.keyboard.press('Escape');
    await allCells(page);
    await page.goBack();
    await page.locator('.fleet-group.zoomed').waitFor();
    await page.getByRole('button', { name: 'All pools' }).click();
    await page.getByLabel('Group by').selectOption('plan');
    await page.waitForFunction(() => document.querySelectorAll('.fleet-group').length === 2);
    assert.deepEqual(await groups(), ['kernel', '']);
  });

  test('what was foretold of a plan stands beside what has happened, and workloads at their lowest', async () => {
    const card = page.locator('.card.plan', {
      has: page.getByRole('heading', { name: 'kernel', exact: true }),
    });
    await card
      .getByRole('img', {
        name: /^Nodes done from .*: 60 of 625, forecast to end at .*, deadline /,
      })
      .waitFor();
    await card
      .getByText(
        /^Forecast of .*: the plan ends at .*, 20 min later than first forecast; 9 of 10 simulated runs end by .*\.$/,
      )
      .waitFor();
    await card
      .getByText(
        '11,300 pods moved, 40 of them again; lowest availability: space-0/app-40, 45 of 50 ready.',
      )
      .waitFor();
    await card.getByText('budget space-0/app-0 allows no eviction').waitFor();
    assert.deepEqual(
      await card
        .locator('svg polyline, svg polygon, svg line')
        .evaluateAll(all => all.map(one => one.getAttribute('class'))),
      ['likely', 'all', 'none', 'deadline', 'first-end', 'now', 'foretold', 'unseen', 'seen'],
    );
    fleet.setReady(120, false);
    await page
      .locator('.low.under', { hasText: 'space-2/app-2' })
      .filter({ hasText: '49 of 50 now' })
      .waitFor();
    fleet.setReady(120, true);
    await page
      .locator('.low:not(.under)', { hasText: 'space-2/app-2' })
      .filter({ hasText: '50 of 50 now' })
      .waitFor();
    await isSound(page, 'with a forecast');
  });

  test('a phone scrolls in one direction only, and its cells are large enough for a finger', async () => {
    const small = await newPage(browser, complaints, {
      viewport: phone,
      hasTouch: true,
      isMobile: true,
    });
    await small.goto(dashboard.url);
    await allCells(small);
    await isSound(small, 'on a phone');
    const { width = 0 } = (await small.locator('.cells .cell').first().boundingBox()) ?? {};
    assert.ok(width >= 24, `${width} pixels`);
    await small.locator('.cells .cell').first().tap();
    await small.locator('.details').waitFor();
    await small.close();
  });

  test('the browser had nothing to complain of', () => {
    assert.deepEqual(complaints, []);
  });
});
