import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import type { Scene } from '@drydock/dashboard';
import { type DashboardHarness, place } from '@drydock/dashboard/testing';
import { administrator, type Serving, serve } from '@drydock/kube-sim';
import { makeAuthority, makeServing } from '@drydock/operator/admission';
import { systemClock } from '@drydock/utils';

/**
 * The commands that open the dashboard, as people run them, on an API server that asks who they
 * are.
 */

const main = join(import.meta.dirname, '..', 'main.mjs');
const rbac = 'rbac.authorization.k8s.io';

/** Looks at everything, changes nothing. */
const viewer: readonly (readonly [string, JsonObject])[] = [
  [
    `clusterroles.${rbac}`,
    {
      metadata: { name: 'looks' },
      rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: ['*'], resources: ['*'] }],
    },
  ],
  [
    `clusterrolebindings.${rbac}`,
    {
      metadata: { name: 'looks' },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'looks' },
      subjects: [{ kind: 'User', apiGroup: rbac, name: 'vera' }],
    },
  ],
];

/**
 * Ended at the latest when the tests are: one that goes on would keep their process from ending.
 */
const children: ChildProcess[] = [];

/** Starts a command; resolves with the address of the dashboard as soon as it has printed one. */
async function opened(...args: readonly string[]): Promise<{
  readonly child: ChildProcess;
  readonly page: URL;
  readonly ended: Promise<number | null>;
}> {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const ended = new Promise<number | null>(resolve => child.once('close', resolve));
  let said = '';
  const page = await new Promise<URL>((resolve, reject) => {
    const heard = (piece: Buffer): void => {
      said += piece.toString();
      const [address] = /http:\/\/127\.0\.0\.1:\d+\/[\w#-]*/.exec(said) ?? [];
      if (address !== undefined && said.includes('\n', said.indexOf(address)))
        resolve(new URL(address));
    };
    child.stdout.on('data', heard);
    child.stderr.on('data', heard);
    child.once('close', () => reject(new Error(said)));
  });
  return { child, page, ended };
}

function headersFor(page: URL): Record<string, string> {
  return {
    'content-type': 'application/json',
    ...(page.hash !== '' && { authorization: `Bearer ${page.hash.slice(1)}` }),
  };
}

async function sceneOf(page: URL): Promise<Scene> {
  const response = await fetch(new URL('/api/stream', page), { headers: headersFor(page) });
  let told = '';
  for await (const piece of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    told += new TextDecoder().decode(piece);
    if (told.includes('"loading":[]')) break;
  }
  const now = await fetch(new URL('/api/scene', page), { headers: headersFor(page) });
  return ((await now.json()) as { readonly scene: Scene }).scene;
}

async function maintain(
  page: URL,
  node: string,
): Promise<readonly [status: number, message: string]> {
  const response = await fetch(new URL('/api/maintain', page), {
    method: 'POST',
    headers: headersFor(page),
    body: JSON.stringify({ node }),
  });
  return [response.status, ((await response.json()) as { readonly message: string }).message];
}

describe('the page of a command', { timeout: 60_000 }, () => {
  let at: DashboardHarness;
  let serving: Serving;
  let folder: string;
  let authority: string;

  const kubeconfig = (token: string): string => {
    const file = join(folder, token);
    const clusters = [
      {
        name: 'c',
        cluster: {
          server: serving.url,
          'certificate-authority-data': Buffer.from(authority).toString('base64'),
        },
      },
    ];
    const contexts = [{ name: 'c', context: { cluster: 'c', user: 'u' } }];
    const config = {
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'c',
      contexts,
      clusters,
      users: [{ name: 'u', user: { token } }],
    };
    writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
    return file;
  };

  before(async () => {
    at = place(systemClock);
    for (const [resource, object] of viewer) at.make(resource, object);
    const vera = { name: 'vera', groups: ['system:authenticated'] };
    const now = systemClock.now();
    const made = await makeAuthority(now);
    const { cert, key } = await makeServing(made, ['127.0.0.1'], now);
    authority = made.cert;
    const tokens = { 'token-of-admin': administrator, 'token-of-vera': vera };
    serving = await serve(at.cluster, { tokens, tls: { certificate: cert, key } });
    folder = mkdtempSync(join(tmpdir(), 'drydock-page-'));
  });

  after(async () => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
    await serving.close();
    await at.stop();
  });

  test('drydock dashboard does what its user may do', async () => {
    const { child, page, ended } = await opened(
      'dashboard',
      '--port=0',
      '--kubeconfig',
      kubeconfig('token-of-admin'),
    );
    const { nodes, facts } = await sceneOf(page);
    assert.deepEqual(
      [nodes.length, facts.access, facts.cluster, facts.unreadable],
      [3, 'link', serving.url, []],
    );
    assert.deepEqual(await maintain(page, 'w1'), [201, 'maintenance of w1 created']);
    assert.equal((await fetch(new URL('/api/scene', page))).status, 401);
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
  });

  test('and nothing that its user may not do: the API server says so', async () => {
    const { child, page, ended } = await opened(
      'dashboard',
      '--port=0',
      '--kubeconfig',
      kubeconfig('token-of-vera'),
    );
    assert.equal((await sceneOf(page)).nodes.length, 3);
    const [status, message] = await maintain(page, 'w2');
    assert.equal(status, 403);
    assert.match(message, /User "vera" cannot create resource "maintenances"/);
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
  });

  test("the operator's is is read-only", async () => {
    const off = ['--metrics-bind-address=0', '--health-probe-bind-address=0', '--webhook-port=0'];
    const flags = [
      '--dashboard-bind-address=127.0.0.1:0',
      ...off,
      '--kubeconfig',
      kubeconfig('token-of-admin'),
    ];
    const { child, page, ended } = await opened('operator', ...flags);
    const { nodes, facts } = await sceneOf(page);
    assert.deepEqual([nodes.length, facts.access], [3, 'read-only']);
    const [status, message] = await maintain(page, 'w2');
    assert.equal(status, 403);
    assert.match(message, /is read-only/);
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
  });

  test('drydock demo prints the link as the first place to go', async () => {
    const { child, page, ended } = await opened('demo', '--port=0');
    const { nodes, facts } = await sceneOf(page);
    assert.deepEqual([nodes.length, facts.cluster], [9, 'demo']);
    assert.equal((await maintain(page, 'worker-1'))[0], 201);
    child.kill('SIGTERM');
    assert.equal(await ended, 0);
  });

  test('a port that is taken is told, where it was asked for', async () => {
    const { port } = new URL(serving.url);
    await assert.rejects(
      opened('demo', `--port=${port}`),
      /^Error: drydock: failed to serve the dashboard on port \d+: .*EADDRINUSE/,
    );
  });
});
