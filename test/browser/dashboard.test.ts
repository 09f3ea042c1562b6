import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { machineAdapter, planAdapter } from '@drydock/apis';
import { type Demo, startDemo } from '@drydock/cli/demo';
import { type Dashboard, type DashboardOptions, startDashboard } from '@drydock/dashboard';
import { PanicHandler, silentLog, systemClock } from '@drydock/utils';
import type { Browser, Page } from 'playwright-core';
import { launch, leftOut } from './browser.ts';
import { attack, countFlights, faint, focus, nameless, sideways } from './in-page.ts';
import { desktop, isSound, newPage, patience, phone, pressUntil } from './pages.ts';

/** The dashboard in a real browser, on the cluster of `drydock demo`. */

const token = 'token-of-the-browser-test';
const images = join(import.meta.dirname, '..', '..', 'docs', 'images');

/** Pictures in the documents are made here; each has to be small enough for a repository. */
async function picture(page: Page, name: string): Promise<void> {
  const png = await page.screenshot({ animations: 'disabled' });
  assert.ok(png.length < 300_000, `${name} has ${png.length} bytes`);
  if (process.env['DRYDOCK_TEST_UPDATE'] !== '1') return;
  mkdirSync(images, { recursive: true });
  writeFileSync(join(images, `${name}.png`), png);
}

/** A server of somebody else, on another port of the same machine. */
async function evilSite() {
  const server = createServer((_request, response) =>
    response.setHeader('content-type', 'text/html').end('<!doctype html><body>evil'),
  );
  await new Promise<void>(resolve => server.listen(0, resolve));
  const close = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
  };
  return { port: (server.address() as AddressInfo).port, close };
}

/** A dashboard of the cluster of a demo. */
function serveDemo(
  demo: Demo,
  port: number,
  access?: DashboardOptions['access'],
): Promise<Dashboard> {
  return startDashboard({
    watcher: demo.ports,
    adapters: demo.adapters,
    machines: machineAdapter,
    plans: planAdapter,
    hosts: demo.hosts,
    access: access ?? { kind: 'link', token, api: demo.ports },
    cluster: 'demo',
    port,
    clock: systemClock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
  });
}

function isLive(page: Page): Promise<void> {
  return page.locator('.connection.live').waitFor({ timeout: patience });
}

describe('the page in a browser', { skip: leftOut, timeout: 240_000 }, () => {
  let demo: Demo;
  let dashboard: Dashboard;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];
  /**
   * Run at the end, whatever became of the tests: what stays open would keep the process from
   * ending.
   */
  const closers: (() => Promise<void>)[] = [];

  const serve = (port: number): Promise<Dashboard> => serveDemo(demo, port);

  const nodeNow = async (name: string): Promise<unknown> => {
    const { body } = await demo.ports.call({ method: 'GET', path: `/api/v1/nodes/${name}` });
    const { metadata, spec } = body as {
      readonly metadata: { readonly labels: unknown; readonly annotations?: unknown };
      readonly spec: unknown;
    };
    return { labels: metadata.labels, annotations: metadata.annotations ?? {}, spec };
  };

  const maintenances = async (): Promise<number> => {
    const { body } = await demo.ports.call({
      method: 'GET',
      path: '/apis/drydock.dev/v1alpha1/maintenances',
    });
    return (body as { readonly items: readonly unknown[] }).items.length;
  };

  before(async () => {
    demo = startDemo({ log: silentLog });
    dashboard = await serve(0);
    browser = await launch();
    page = await newPage(browser, complaints);
  });

  after(async () => {
    await browser?.close();
    await Promise.all(closers.map(close => close()));
    await dashboard?.close();
    await demo?.stop();
  });

  test('the link shows three zones and every node, and leaves the address bar', async () => {
    await page.goto(dashboard.url);
    await isLive(page);
    await page.locator('.node').nth(8).waitFor();
    assert.deepEqual(
      await page
        .locator('.zone')
        .evaluateAll(zones =>
          zones.map(zone => [
            zone.getAttribute('aria-label'),
            zone.querySelectorAll('.node').length,
          ]),
        ),
      [
        ['Zone middle', 3],
        ['Zone north', 3],
        ['Zone south', 3],
      ],
    );
    assert.equal(await page.locator('.role').count(), 3, 'the control plane is marked');
    assert.equal(page.url(), `http://127.0.0.1:${dashboard.port}/`);
    await page.waitForFunction(
      () =>
        document.querySelectorAll('.node .pod').length === 45 &&
        document.querySelectorAll('.node .pod.running').length === 45,
    );
  });

  test('a node is put into maintenance, its pods move, what blocks it is said, and it comes back: with the keyboard alone', async () => {
    const node =
      (await page
        .locator('.node:has([data-workload="shop/payment"])')
        .first()
        .getAttribute('data-node')) ?? '';
    const was = await nodeNow(node);
    await page.evaluate(countFlights);
    await pressUntil(page, 'Tab', ({ id }) => id === `node-${node}`);
    await page.keyboard.press('Enter');
    await page.locator('.details').waitFor();
    await pressUntil(page, 'Tab', ({ text }) => text === `Maintain ${node}…`);
    await page.keyboard.press('Space');
    await page.getByRole('dialog', { name: `Take ${node} out of service` }).waitFor();
    await page.keyboard.type('new disk');
    await pressUntil(page, 'Tab', () => true);
    await page.keyboard.press('Space');
    await pressUntil(page, 'Tab', () => true);
    await page.keyboard.press('Space');
    assert.equal(await page.locator('dialog input:checked').count(), 2);
    await page
      .locator('.prospect', {
        hasText: 'budget payment needs 2 healthy pods of 2: as it stands, it allows no disruption',
      })
      .waitFor();
    await pressUntil(page, 'Tab', ({ text }) => text === 'Start maintenance');
    await page.keyboard.press('Enter');
    await page.locator('dialog').waitFor({ state: 'detached' });
    const box = page.locator(`.node[data-node=${node}]`);
    await box.locator('.chip', { hasText: 'Blocked' }).waitFor();
    await page.waitForFunction(
      name =>
        document.querySelectorAll(`.node[data-node=${name}] .pod:not(.stays, .blocked)`).length ===
        0,
      node,
    );
    assert.equal(await box.locator('.pod.blocked').count(), 1);
    assert.ok(
      Number(await page.locator('html').getAttribute('data-flights')) > 0,
      'pods fly to where they are now',
    );
    const details = page.locator('.details');
    assert.match(
      await details.locator('.blockers').innerText(),
      /1 pod is blocked: budget payment needs 2 healthy pods of 2[^]*How to fix: run more replicas/,
    );
    assert.match(await details.innerText(), /“new disk”[^]*held by\s+Maintenance/);
    await page.locator('.moment', { hasText: 'MaintenanceBegun' }).waitFor();
    await page.waitForFunction(
      () => document.querySelectorAll('.node .pod.starting, .node .pod.leaving').length === 0,
    );
    await pictures(page, node);
    await pressUntil(page, 'Shift+Tab', ({ text }) => text.startsWith(`Release ${node}`));
    await page.keyboard.press('Enter');
    await page.getByRole('dialog', { name: `Release ${node}` }).waitFor();
    await pressUntil(page, 'Tab', ({ text }) => text === `Release ${node}`);
    await page.keyboard.press('Enter');
    await page.locator('.quiet', { hasText: 'Every node is in service.' }).waitFor();
    assert.deepEqual(await nodeNow(node), was);
    assert.equal(await maintenances(), 0);
  });

  const ask = (method: 'POST' | 'DELETE', path: string, body: unknown): Promise<unknown> =>
    demo.ports.call({ method, path: `/apis/drydock.dev/v1alpha1/maintenances${path}`, body });

  /** A node that is blocked, beside one that is out of service: what the documents show. */
  const pictures = async (page: Page, node: string): Promise<void> => {
    const other = node === 'worker-5' ? 'worker-6' : 'worker-5';
    const drain = { force: true, deleteEmptyDirData: true, disableEviction: true };
    const spec = { nodeName: other, reason: 'firmware 2.4', drain };
    await ask('POST', '', {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'Maintenance',
      metadata: { name: other },
      spec,
    });
    await page.locator(`.node[data-node=${other}] .chip`, { hasText: 'Out of service' }).waitFor();
    await page.waitForFunction(
      () => document.querySelectorAll('.node .pod.starting, .node .pod.leaving').length === 0,
    );
    await page.locator('.notice').waitFor({ state: 'detached' });
    await picture(page, 'dashboard-light');
    assert.deepEqual(await page.evaluate(faint), [], 'contrast in the light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await picture(page, 'dashboard-dark');
    assert.deepEqual(await page.evaluate(faint), [], 'contrast in the dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize(phone);
    assert.equal(await page.evaluate(sideways), 0, 'details on a phone');
    await page.setViewportSize(desktop);
    const small = await browser.newPage({ viewport: phone, colorScheme: 'light', isMobile: true });
    await small.goto(dashboard.url);
    await small.locator('.node').nth(8).waitFor({ timeout: patience });
    await picture(small, 'dashboard-phone');
    await small.close();
    await ask('DELETE', `/${other}`, {});
  };

  test('the VMs of a node are told one by one, and are seen to move', async () => {
    const path = '/apis/drydock.dev/v1alpha1/maintenances';
    const body = {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'Maintenance',
      metadata: { name: 'worker-1' },
      spec: { nodeName: 'worker-1', drain: { force: true, deleteEmptyDirData: true } },
    };
    assert.equal((await demo.ports.call({ method: 'POST', path, body })).status, 201);
    const vms = page.locator('.card', { hasText: 'worker-1' }).locator('.vms .vm');
    await vms
      .filter({ hasText: 'web-1' })
      .filter({ hasText: /is being moved|moved to worker-/ })
      .waitFor();
    await vms
      .filter({ hasText: 'archive-1' })
      .filter({ hasText: /moved to worker-/ })
      .waitFor({ timeout: 40_000 });
    await demo.ports.call({ method: 'DELETE', path: `${path}/worker-1` });
    await page.locator('.card', { hasText: 'worker-1' }).waitFor({ state: 'detached' });
  });

  /** Another machine joins 20 s after the old one has gone. */
  const replacement = { timeout: 60_000 };

  test('a host is retired with the keyboard: the announcement, the drain, the node that comes in its place', async () => {
    await pressUntil(page, 'Tab', ({ id }) => id === 'node-worker-1');
    await page.keyboard.press('Enter');
    await pressUntil(page, 'Tab', ({ text }) => text === 'Retire this host');
    await page.keyboard.press('Space');
    await page.locator('.notice', { hasText: 'the host of worker-1 will be retired' }).waitFor();
    assert.equal((await page.evaluate(focus)).id, 'details-title');
    const box = page.locator('.node[data-node=worker-1]');
    await box.locator('.announcement', { hasText: 'retirement: being drained' }).waitFor();
    const details = page.locator('.details');
    assert.match(
      await details.innerText(),
      /simulated announces: retirement in about 14 days: The host of this machine has degraded hardware/,
    );
    assert.equal(
      await page.getByRole('button', { name: 'Reboot this host' }).count(),
      0,
      'one thing at a time',
    );
    assert.equal(
      await page.getByRole('button', { name: 'Release worker-1' }).count(),
      0,
      'it ends with the announcement',
    );
    assert.deepEqual(await page.evaluate(nameless), []);
    assert.deepEqual(await page.evaluate(faint), []);
    await box.locator('.chip', { hasText: 'Being replaced' }).waitFor();
    assert.match(
      await details.innerText(),
      /waiting for its replacement: MachineSet worker-north has 1 of 2 machines/,
    );
    await page.locator('.notice').waitFor({ state: 'detached' });
    await picture(page, 'dashboard-retirement');
    await page.keyboard.press('Escape');
    const announced = page.locator('.announced .card');
    assert.match(
      await announced.innerText(),
      /worker-1[^]*being replaced[^]*drain the node, then replace the machine/,
    );
    await page.locator('.node[data-node^=worker-north-]').waitFor(replacement);
    await box.waitFor({ state: 'detached' });
    await announced.waitFor({ state: 'detached' });
    await page.locator('.moment', { hasText: 'Machine worker-1 has been replaced' }).waitFor();
    await page.locator('.moment', { hasText: /worker-north-.*has joined the cluster/ }).waitFor();
    assert.equal(await maintenances(), 0);
    assert.equal(await page.locator('.node').count(), 9);
    assert.match(
      await page.locator('.windows').innerText(),
      /sale\s+open, closes in about 29 days/,
    );
  });

  test('what waits to be approved is approved on a phone', async () => {
    const small = await browser.newPage({
      viewport: phone,
      colorScheme: 'dark',
      hasTouch: true,
      isMobile: true,
    });
    await small.goto(dashboard.url);
    await small.locator('#node-worker-5').waitFor({ timeout: patience });
    const body = { metadata: { annotations: { 'demo.drydock.dev/redeploy': 'please' } } };
    await demo.ports.call({
      method: 'PATCH',
      path: '/api/v1/nodes/worker-5',
      contentType: 'application/merge-patch+json',
      body,
    });
    await small.locator('.announced .button', { hasText: 'Approve' }).tap();
    await small.getByRole('dialog', { name: 'Approve the maintenance of worker-5' }).waitFor();
    assert.deepEqual(await small.evaluate(nameless), []);
    assert.equal(await small.evaluate(sideways), 0);
    await small.getByRole('button', { name: 'Approve worker-5' }).tap();
    await small.locator('dialog').waitFor({ state: 'detached' });
    await small
      .locator('.announcement', { hasText: 'move to another host: being drained' })
      .waitFor();
    assert.deepEqual(await small.evaluate(faint), []);
    assert.equal(await small.evaluate(sideways), 0);
    await small.locator('.node[data-node^=worker-south-]').waitFor(replacement);
    await small.locator('.announcement').waitFor({ state: 'detached' });
    assert.equal(await maintenances(), 0);
    await small.close();
  });

  test('Escape closes the dialog, then the details, and the focus goes back to where it came from', async () => {
    await page.locator('#node-worker-6').click();
    await page.locator('.details .button.main').click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('dialog').waitFor({ state: 'detached' });
    assert.equal((await page.evaluate(focus)).text, 'Maintain worker-6…');
    await page.keyboard.press('Escape');
    await page.locator('.details').waitFor({ state: 'detached' });
    assert.equal((await page.evaluate(focus)).id, 'node-worker-6');
  });

  test('everything that can be used has a name, and axe finds nothing', async () => {
    await page.locator('#node-worker-6').click();
    await page.locator('.details .button.main').click();
    await page.locator('.prospect', { hasText: 'will be evicted' }).waitFor();
    await isSound(page, 'the question');
    await page.keyboard.press('Escape');
    await isSound(page, 'details');
    await page.keyboard.press('Escape');
    await isSound(page, 'the whole cluster');
  });

  test('a phone scrolls in one direction only, and does all the same', async () => {
    const small = await browser.newPage({
      viewport: phone,
      colorScheme: 'light',
      hasTouch: true,
      isMobile: true,
    });
    await small.goto(dashboard.url);
    await small.locator('.node').nth(8).waitFor({ timeout: patience });
    assert.equal(await small.evaluate(sideways), 0);
    await small.locator('#node-worker-2').tap();
    await small.locator('.details .button.main').tap();
    await small.getByRole('dialog').waitFor();
    assert.equal(await small.evaluate(sideways), 0);
    await small.getByRole('button', { name: 'Cancel' }).tap();
    await small.getByRole('button', { name: 'Close the details' }).tap();
    await small.locator('.details').waitFor({ state: 'detached' });
    await small.close();
  });

  test('without the token, or with another one, there is nothing to be seen; the right link opens it at once', async () => {
    const context = await browser.newContext();
    const stranger = await context.newPage();
    for (const address of ['', '#guess']) {
      await stranger.goto(`http://127.0.0.1:${dashboard.port}/${address}`);
      await stranger
        .getByRole('heading', { name: 'This page needs the full link' })
        .waitFor({ timeout: patience });
      assert.equal(await stranger.locator('.node').count(), 0);
      assert.doesNotMatch(await stranger.content(), /worker-1/);
    }
    await stranger.evaluate(hash => {
      location.hash = hash;
    }, token);
    await stranger.locator('.node').nth(8).waitFor({ timeout: patience });
    await context.close();
  });

  test('a page of another site neither reads nor writes, not even with the token', async () => {
    const evil = await evilSite();
    closers.push(evil.close);
    const site = await browser.newPage();
    // Another port of this machine is another origin, but the same site; the other name is another
    // site as well.
    for (const host of ['127.0.0.1', 'localhost']) {
      await site.goto(`http://${host}:${evil.port}/`);
      assert.deepEqual(
        await site.evaluate(attack, [`http://127.0.0.1:${dashboard.port}/`, token] as const),
        [],
        host,
      );
      await site.evaluate(address => {
        document.body.append(Object.assign(document.createElement('iframe'), { src: address }));
      }, dashboard.url);
      await site.locator('iframe').waitFor();
      const [frame] = site.mainFrame().childFrames();
      await frame?.waitForLoadState();
      assert.equal(
        await frame?.locator('.node, .gate').count(),
        0,
        'nor does it show the page in a frame',
      );
    }
    assert.equal(await maintenances(), 0);
    // A link is followed from wherever it stands: the terminal may be a web page too.
    await site.evaluate(address => {
      document.body.append(
        Object.assign(document.createElement('a'), { href: address, textContent: 'the link' }),
      );
    }, dashboard.url);
    await site.getByText('the link').click();
    await site.locator('.node').nth(8).waitFor({ timeout: patience });
    await site.close();
  });

  test('a server that goes away and comes back is found again', async () => {
    const { port } = dashboard;
    await dashboard.close();
    await page.locator('.connection.reconnecting').waitFor();
    dashboard = await serve(port);
    await isLive(page);
    await page.waitForFunction(() => document.querySelectorAll('.node').length === 9);
  });

  test('the browser had nothing to complain of', () => {
    const own = complaints.filter(
      text =>
        !text.includes('ERR_CONNECTION_REFUSED') &&
        !text.includes('ERR_INCOMPLETE_CHUNKED_ENCODING'),
    );
    assert.deepEqual(own, []);
  });
});

describe('a plan in a browser', { skip: leftOut, timeout: 180_000 }, () => {
  const plansPath = '/apis/drydock.dev/v1alpha1/maintenanceplans';
  let demo: Demo;
  let dashboard: Dashboard;
  let browser: Browser;
  let page: Page;
  const complaints: string[] = [];

  /** Kernel and boot of each worker. */
  const boots = async (): Promise<
    ReadonlyMap<string, { readonly kernelVersion: string; readonly bootID: string }>
  > => {
    const { body } = await demo.ports.call({ method: 'GET', path: '/api/v1/nodes' });
    const { items } = body as {
      readonly items: readonly {
        readonly metadata: { readonly name: string };
        readonly status: {
          readonly nodeInfo: { readonly kernelVersion: string; readonly bootID: string };
        };
      }[];
    };
    const workers = items.filter(({ metadata }) => metadata.name.startsWith('worker-'));
    return new Map(workers.map(({ metadata, status }) => [metadata.name, status.nodeInfo]));
  };

  before(async () => {
    // Ten times as fast as what people can follow.
    demo = startDemo({ log: silentLog, speed: 10 });
    dashboard = await serveDemo(demo, 0);
    browser = await launch();
    page = await newPage(browser, complaints);
  });

  after(async () => {
    await browser?.close();
    await dashboard?.close();
    await demo?.stop();
  });

  const cardOn = (of: Page) =>
    of.locator('.card.plan', { has: of.getByRole('heading', { name: 'kernel', exact: true }) });

  test('it waits to be started, and is started with the keyboard: one node goes first, and then somebody has to agree', async () => {
    await page.goto(dashboard.url);
    const card = cardOn(page);
    await card.locator('.chip', { hasText: 'Paused' }).waitFor();
    await card.locator('.plan-counts', { hasText: /^6 due$/ }).waitFor();
    assert.deepEqual(await card.locator('.plan-stage').allInnerTexts(), [
      'canary\npending, 0 of 1',
      'north\npending, 0 of 1',
      'south\npending, 0 of 2',
      'middle\npending, 0 of 2',
    ]);
    await pressUntil(page, 'Tab', ({ text }) => text === 'Resume plan kernel…');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Resume plan kernel' });
    assert.match(
      await dialog.innerText(),
      /6 due[^]*up to 2 at once[^]*canary: 1 node, then north: 1 node/,
    );
    await isSound(page, 'the question');
    await pressUntil(page, 'Tab', ({ text }) => text === 'Resume kernel');
    await page.keyboard.press('Enter');
    await card.locator('.plan-node', { hasText: /worker-1\s+being drained/ }).waitFor();
    await card.locator('.plan-node', { hasText: /work in progress|rebooting/ }).waitFor();
    await card.locator('.chip', { hasText: 'Waiting for approval' }).waitFor();
    assert.match(
      await card.innerText(),
      /1 of 6 done[^]*canary\s+waiting for approval, 1 of 1[^]*Approval: stage canary is done \(1 done\), and somebody has to agree/,
    );
    await page.locator('.moment', { hasText: 'AwaitingApproval' }).waitFor();
    assert.equal((await boots()).get('worker-1')?.kernelVersion, '6.12.9');
  });

  test('light, dark, on a phone, and with names without end', async () => {
    const name = 'x'.repeat(240);
    const spec = {
      state: 'Paused',
      nodeSelector: {},
      work: { none: {} },
      stages: [{ name: 'y'.repeat(63) }],
    };
    const body = {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'MaintenancePlan',
      metadata: { name },
      spec,
    };
    await page.locator('.notice').waitFor({ state: 'detached' });
    await picture(page, 'dashboard-plan');
    assert.equal((await demo.ports.call({ method: 'POST', path: plansPath, body })).status, 201);
    await page.locator('.plan-stage', { hasText: 'yyy' }).waitFor();
    await isSound(page, 'in the light');
    await page.emulateMedia({ colorScheme: 'dark' });
    await isSound(page, 'in the dark');
    await page.setViewportSize(phone);
    await isSound(page, 'on a phone');
    await page.setViewportSize(desktop);
    await page.emulateMedia({ colorScheme: 'light' });
    assert.equal(
      (await demo.ports.call({ method: 'DELETE', path: `${plansPath}/${name}` })).status,
      200,
    );
    await page.locator('.plan-stage', { hasText: 'yyy' }).waitFor({ state: 'detached' });
  });

  test('whoever may only look sees all of it, and no button', async () => {
    await using opened = new AsyncDisposableStack();
    const looking = opened.adopt(await serveDemo(demo, 0, { kind: 'read-only' }), it => it.close());
    const visitor = opened.adopt(await browser.newPage({ viewport: desktop }), it => it.close());
    await visitor.goto(looking.url);
    await cardOn(visitor)
      .locator('.chip', { hasText: 'Waiting for approval' })
      .waitFor({ timeout: patience });
    assert.equal(await cardOn(visitor).locator('.button').count(), 0);
  });

  test('it is approved on a phone, paused and resumed on the way, and takes every worker through', async () => {
    const was = await boots();
    const small = await newPage(browser, complaints, {
      viewport: phone,
      colorScheme: 'dark',
      hasTouch: true,
      isMobile: true,
    });
    await small.goto(dashboard.url);
    await cardOn(small)
      .getByRole('button', { name: /^Approve what follows stage canary of plan kernel/ })
      .tap();
    await small
      .getByRole('dialog', { name: 'Approve what follows stage canary of plan kernel' })
      .waitFor();
    await isSound(small, 'the question');
    await small
      .getByRole('button', { name: 'Approve what follows stage canary', exact: true })
      .tap();
    await small.locator('dialog').waitFor({ state: 'detached' });
    await cardOn(small).locator('.plan-node', { hasText: 'worker-2' }).waitFor();
    await isSound(small, 'on a phone, in flight');
    await small.close();
    await pressUntil(page, 'Tab', ({ text }) => text === 'Pause plan kernel');
    await page.keyboard.press('Space');
    const card = cardOn(page);
    await card.locator('.chip', { hasText: 'Paused' }).waitFor();
    await page.locator('.notice', { hasText: 'plan kernel is paused' }).waitFor();
    assert.equal(
      (await page.evaluate(focus)).text,
      'Resume plan kernel…',
      'the focus stays where it was',
    );
    await card.locator('.plan-nodes').waitFor({ state: 'detached' });
    assert.match(await card.innerText(), /[2-5] of 6 done/, 'what was in flight went on');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Resume kernel', exact: true }).click();
    await card.locator('.chip', { hasText: 'Complete' }).waitFor({ timeout: 60_000 });
    assert.match(await card.innerText(), /6 of 6 done/);
    await page.locator('.quiet', { hasText: 'Every node is in service.' }).waitFor();
    const now = await boots();
    assert.deepEqual(
      [...now].map(([name, { kernelVersion, bootID }]) => [
        kernelVersion,
        name === 'worker-1' || bootID !== was.get(name)?.bootID,
      ]),
      [...was].map(() => ['6.12.9', true]),
    );
    await isSound(page, 'complete');
    assert.deepEqual(complaints, []);
  });
});
