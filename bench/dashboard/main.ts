import { setTimeout as sleep } from 'node:timers/promises';
import { maintenance, planAdapter } from '@drydock/apis';
import { startDashboard } from '@drydock/dashboard';
import { inProcess } from '@drydock/kube-sim';
import { PanicHandler, silentLog, systemClock } from '@drydock/utils';
import type { CDPSession, Page } from 'playwright-core';
import { launch } from '../../test/browser/browser.ts';
import { argumentsOf, count, positive } from '../arguments.ts';
import { makeFleet } from './fleet.ts';

/**
 * How the dashboard's page does in a real Chromium with a large cluster that changes: `npm run
 * bench:dashboard -- [--nodes N] [--pods N] …`.
 */

const text = { type: 'string' } as const;
const { values } = argumentsOf({
  options: {
    nodes: text,
    pods: text,
    changes: text,
    'node-changes': text,
    seconds: text,
    picture: text,
  },
});
const nodes = count('--nodes', values.nodes, 5000);
const pods = count('--pods', values.pods, 100_000);
const changes = count('--changes', values.changes, 200);
const nodeChanges = count('--node-changes', values['node-changes'], 4);
const seconds = positive('--seconds', values.seconds, 20);

const maxFirstPictureMs = 1500;
const frameMs = 1000 / 60;
const maxHeapMb = 150;

/**
 * Runs in the page before anything else: when every node is painted for the first time, tasks that
 * are too long for a frame, and frames.
 */
const watch = `(() => {
  globalThis.bench = { painted: 0, long: [], frames: 0, isCounting: false };
  new PerformanceObserver(list => bench.long.push(...list.getEntries().map(({ duration }) => duration))).observe({ entryTypes: ['longtask'] });
  const look = () => {
    if (document.getElementsByClassName('cell').length < ${nodes}) return requestAnimationFrame(look);
    requestAnimationFrame(() => { bench.painted = performance.now(); });
  };
  requestAnimationFrame(look);
})()`;

/** What the page has used of the main thread so far, in seconds, by kind of work. */
async function readMetrics(session: CDPSession): Promise<ReadonlyMap<string, number>> {
  const { metrics } = await session.send('Performance.getMetrics');
  return new Map(metrics.map(({ name, value }) => [name, value]));
}

async function heapMb(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}

function told(what: string, value: string): void {
  console.log(`${what.padEnd(58)} ${value}`);
}

const failures: string[] = [];
function bounded(what: string, value: number, most: number, unit: string): void {
  told(what, `${value.toFixed(value < 10 ? 2 : 0)} ${unit} (at most ${most})`);
  if (value > most) failures.push(what);
}

function numbersOf(page: Page, expression: string): Promise<readonly number[]> {
  return page.evaluate<number[]>(expression);
}

async function firstPicture(page: Page, url: string): Promise<void> {
  const times: number[] = [];
  for (let run = 0; run < 3; run += 1) {
    await page.goto('about:blank');
    await page.goto(url);
    await page.waitForFunction('bench.painted > 0', undefined, { timeout: 60_000 });
    times.push(...(await numbersOf(page, '[bench.painted]')));
  }
  told('first picture, each of three loads', times.map(ms => `${ms.toFixed(0)} ms`).join(', '));
  bounded('first picture, the slowest', Math.max(...times), maxFirstPictureMs, 'ms');
}

async function steadyWork(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable');
  await sleep(3000);
  await page.evaluate('bench.long.length = 0');
  const before = await readMetrics(session);
  let highest = 0;
  for (let second = 0; second < seconds; second += 1) {
    await sleep(1000);
    highest = Math.max(
      highest,
      ...(await numbersOf(page, '[performance.memory.usedJSHeapSize / 1e6]')),
    );
  }
  const after = await readMetrics(session);
  const spent = (name: string): number => (after.get(name) ?? 0) - (before.get(name) ?? 0);
  const passed = spent('Timestamp');
  const ms = (name: string): number => (spent(name) / passed) * 1000;
  const parts = ['ScriptDuration', 'RecalcStyleDuration', 'LayoutDuration'].map(
    name => `${name} ${ms(name).toFixed(0)} ms`,
  );
  told('main thread in a second', `${ms('TaskDuration').toFixed(0)} ms: ${parts.join(', ')}`);
  bounded('the same in frames of a sixtieth', ms('TaskDuration') / frameMs, 60, 'frames');
  const long = await numbersOf(page, 'bench.long');
  told(
    'tasks longer than 50 ms',
    `${long.length} in ${passed.toFixed(0)} s${long.length > 0 ? `, longest ${Math.max(...long).toFixed(0)} ms` : ''}`,
  );
  bounded('JS heap, the highest seen', highest, maxHeapMb, 'MB');
  told('JS heap after a collection', `${(await heapMb(session)).toFixed(0)} MB`);
}

const fleet = makeFleet(nodes, pods);
await using opened = new AsyncDisposableStack();
const common = {
  adapters: [maintenance('medik8s-leases')],
  plans: planAdapter,
  cluster: 'large',
  port: 0,
  clock: systemClock,
  log: silentLog,
  defects: new PanicHandler({ log: silentLog }),
};
const watcher = inProcess(fleet.cluster, { userAgent: 'bench' });
const dashboard = opened.adopt(
  await startDashboard({ ...common, watcher, access: { kind: 'read-only' } }),
  it => it.close(),
);
await sleep(3000);
const scene = await (await fetch(`${dashboard.url}api/scene`)).text();
told(
  `${nodes} nodes and ${pods} pods: the first document`,
  `${(scene.length / 1e6).toFixed(2)} MB`,
);
const browser = opened.adopt(await launch(), it => it.close());
const context = await browser.newContext({
  viewport: { width: 1360, height: 860 },
  bypassCSP: true,
});
await context.addInitScript({ content: watch });
const page = await context.newPage();
opened.defer(fleet.change(changes, nodeChanges));
await firstPicture(page, dashboard.url);
told('changes in a second', `${changes} of pods, ${nodeChanges} of nodes`);
await steadyWork(page);
if (values.picture !== undefined) await page.screenshot({ path: values.picture });
for (const failure of failures) console.error(`FAIL ${failure}`);
process.exitCode = failures.length === 0 ? 0 : 1;
