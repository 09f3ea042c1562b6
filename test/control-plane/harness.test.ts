import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { auditIn, firstEvictions, tally } from './audit.ts';
import { startControlPlane } from './control-plane.ts';
import {
  budgetAllows,
  clearNamespaces,
  create,
  deleteNodes,
  evict,
  failureIn,
  getNode,
  nodesReady,
  podsOn,
  podsReady,
} from './objects/cluster.ts';
import { budget, deployment, namespace, node, pod } from './objects/manifests.ts';
import { componentNames } from './programs.ts';
import { wantedRelease } from './releases.ts';
import type { ControlPlane } from './types.ts';
import { until, waitFor } from './wait.ts';

const started = await startControlPlane({ audit: true, users: { nobody: [] } });
const skip = started.kind === 'left-out' ? `control plane left out: ${started.why}` : false;
const ours = skip === false && started.kind === 'started' && !started.external;
const controlPlane = started as ControlPlane;
const shop = 'drydock-harness';
const n1 = 'drydock-harness-1';

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('the control plane of the tests', { skip, timeout: 120_000 }, () => {
  const { api } = controlPlane;

  before(async () => {
    await create(api, namespace(shop), node(n1));
    await nodesReady(api, [n1]);
  });
  after(async () => {
    // Somebody's cluster gets back what it had.
    if (!ours) {
      await clearNamespaces(api, [shop]);
      await api.delete(`/api/v1/namespaces/${shop}`);
      await deleteNodes(api, [n1]);
    }
    await controlPlane.stop();
  });

  test('a pod gets Ready on a node, and leaves it a second after its deletion', async () => {
    await create(api, pod('solo', { namespace: shop, onNodes: [n1] }));
    await podsReady(api, shop, 1);
    assert.deepEqual(
      (await podsOn(api, n1)).map(({ metadata }) => metadata.name),
      ['solo'],
    );
    assert.equal((await evict(api, shop, 'solo')).status, 201);
    await podsReady(api, shop, 0);
  });

  test('a budget refuses the second eviction with its own cause', async () => {
    const mark = ours ? controlPlane.audit.mark() : 0;
    const since = Date.now();
    await create(
      api,
      deployment('web', { namespace: shop, replicas: 2 }),
      budget('web', { namespace: shop, maxUnavailable: 1 }),
    );
    const names = (await podsReady(api, shop, 2)).map(({ metadata }) => metadata.name);
    await budgetAllows(api, shop, 'web', 1);
    assert.equal((await evict(api, shop, names[0]!)).status, 201);
    const refused = await evict(api, shop, names[1]!);
    assert.equal(refused.status, 429);
    assert.equal(failureIn(refused).details?.causes?.[0]?.reason, 'DisruptionBudget');
    if (!ours) return;
    const events = await controlPlane.audit.since(mark, 'admin');
    assert.deepEqual(tally(events).evictions, { total: 2, accepted: 1, refused: 1, other: {} });
    const first = firstEvictions(events, () => n1).get(n1) ?? 0;
    assert.ok(first >= since && first <= Date.now(), 'the first eviction has its time');
  });

  test('annotations change how long a pod takes', async () => {
    await clearNamespaces(api, [shop]);
    await create(
      api,
      pod('late', {
        namespace: shop,
        onNodes: [n1],
        annotations: { 'drydock.test/ready-after': '1h' },
      }),
      pod('never', {
        namespace: shop,
        onNodes: [n1],
        annotations: { 'drydock.test/never-ready': 'true' },
      }),
      pod('stays', {
        namespace: shop,
        onNodes: [n1],
        annotations: { 'drydock.test/never-gone': 'true' },
      }),
      pod('slow', {
        namespace: shop,
        onNodes: [n1],
        annotations: { 'drydock.test/gone-after': '3s' },
      }),
      pod('done', {
        namespace: shop,
        onNodes: [n1],
        annotations: { 'drydock.test/done-after': '200ms' },
      }),
    );
    const phases = async (): Promise<Record<string, string>> =>
      Object.fromEntries(
        (await podsOn(api, n1)).map(({ metadata, status }) => [metadata.name, status.phase]),
      );
    const settled = {
      done: 'Succeeded',
      late: 'Pending',
      never: 'Pending',
      slow: 'Running',
      stays: 'Running',
    };
    await waitFor('all phases', async () => {
      const seen = await phases();
      return JSON.stringify(Object.entries(seen).sort(([a], [b]) => (a < b ? -1 : 1))) ===
        JSON.stringify(Object.entries(settled))
        ? { done: undefined }
        : { yet: JSON.stringify(seen) };
    });
    for (const name of ['stays', 'slow']) await evict(api, shop, name);
    const gone = async (): Promise<boolean> => (await phases())['slow'] === undefined;
    const begin = performance.now();
    await until('the slow pod to be gone', gone);
    assert.ok(performance.now() - begin > 2000, 'it took its time');
    assert.equal((await phases())['stays'], 'Running');
    await clearNamespaces(api, [shop]);
  });

  test('kubectl works, and a user without a group may do nothing', {
    skip: !ours && 'not with another cluster',
  }, async () => {
    assert.ok(
      (await controlPlane.kubectl(['version'])).stdout.includes(
        `Server Version: ${wantedRelease().version}\n`,
      ),
    );
    const denied = await controlPlane.kubectl(['get', 'nodes'], { user: 'nobody' });
    assert.equal(denied.code, 1);
    assert.match(denied.stderr, /forbidden/);
  });

  test('the API server can be taken away and comes back with everything in it', {
    skip: !ours && 'not with another cluster',
  }, async () => {
    await controlPlane.restart('kube-apiserver');
    assert.equal((await getNode(api, n1)).metadata.name, n1);
    await deleteNodes(api, [n1]);
  });

  test('stopping leaves no process and no folder', {
    skip: !ours && 'not with another cluster',
  }, async () => {
    const pids = await Promise.all(componentNames.map(name => controlPlane.component(name).pid()));
    assert.ok(pids.every(isAlive));
    await controlPlane.stop();
    assert.deepEqual(pids.filter(isAlive), []);
    assert.equal(existsSync(controlPlane.folder), process.env['DRYDOCK_TEST_KEEP'] === '1');
  });
});

test('a control plane dies with its test process, even one that is killed', {
  skip: !ours && (skip || 'not with another cluster'),
  timeout: 60_000,
}, async () => {
  const script = `
    const { startControlPlane } = await import(${JSON.stringify(join(import.meta.dirname, 'control-plane.ts'))});
    const started = await startControlPlane();
    console.log(started.folder);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const { promise, resolve } = Promise.withResolvers<string>();
    child.stdout.setEncoding('utf8').once('data', resolve);
    const folder = (await promise).trim();
    const noted = componentNames.map(name => join(folder, `${name}.pid`));
    await until('all components to run', async () => noted.every(existsSync));
    const pids = noted.map(file => Number(readFileSync(file, 'utf8')));
    assert.ok(pids.every(isAlive));
    child.kill('SIGKILL');
    await until('its components to be gone', async () => !pids.some(isAlive), {
      deadlineMs: 10_000,
    });
  } finally {
    child.kill('SIGKILL');
  }
});

test('what is counted from a mark begins with the next whole line, wherever in a line the mark is', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-audit-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'audit.log');
  const line = (id: string): string =>
    `${JSON.stringify({ auditID: id, verb: 'get', user: { username: 'a' }, requestReceivedTimestamp: '2026-11-22T08:00:00Z', stageTimestamp: '2026-11-22T08:00:00Z' })}\n`;
  writeFileSync(file, line('old'));
  const audit = auditIn(file);
  const whole = audit.mark();
  appendFileSync(file, line('half').slice(0, 20));
  const within = audit.mark();
  appendFileSync(file, line('half').slice(20) + line('new'));
  const idsSince = async (mark: number): Promise<readonly string[]> =>
    (await audit.since(mark)).map(({ id }) => id);
  assert.deepEqual(
    [await idsSince(0), await idsSince(whole), await idsSince(within)],
    [['old', 'half', 'new'], ['half', 'new'], ['new']],
  );
});
