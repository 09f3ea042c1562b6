import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { serverPair, testAuthority } from '@drydock/kube-client/testing';
import {
  administrator,
  createCluster,
  inProcess,
  type Serving,
  seeded,
  serve,
} from '@drydock/kube-sim';
import { systemClock } from '@drydock/utils';
import { exampleIn } from './example.ts';

/**
 * The example in the README of each package runs as it stands there, and prints what stands below
 * it. Those that need a cluster find one by KUBECONFIG.
 */

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'drydock-readme-'));
const kubeconfig = join(folder, 'kubeconfig');
let serving: Serving | undefined;

before(async () => {
  const cluster = createCluster({ clock: systemClock, random: seeded(1) });
  const api = inProcess(cluster, { userAgent: 'readme' });
  for (const name of ['worker-1', 'worker-2'])
    await api.call({
      method: 'POST',
      path: '/api/v1/nodes',
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name } },
    });
  serving = await serve(cluster, {
    tokens: { example: administrator },
    tls: { certificate: serverPair.cert, key: serverPair.key },
  });
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'readme',
    contexts: [{ name: 'readme', context: { cluster: 'readme', user: 'readme' } }],
    clusters: [
      {
        name: 'readme',
        cluster: {
          server: serving.url,
          'certificate-authority-data': Buffer.from(testAuthority).toString('base64'),
        },
      },
    ],
    users: [{ name: 'readme', user: { token: 'example' } }],
  };
  writeFileSync(kubeconfig, JSON.stringify(config));
});

after(async () => {
  await serving?.close();
  rmSync(folder, { recursive: true });
});

function outputOf(code: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = ['--input-type=module-typescript', '--eval', code];
    const options = { cwd: root, env: { ...process.env, KUBECONFIG: kubeconfig }, timeout: 60_000 };
    execFile(process.execPath, args, options, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(`${error.message}\n${stderr}`)),
    );
  });
}

for (const name of readdirSync(join(root, 'packages')))
  test(`the example of ${name} runs, and prints what its README shows`, async () => {
    const { code, output } = exampleIn(join(root, 'packages', name));
    assert.notEqual(code, '', 'there is no example');
    assert.equal(await outputOf(code), output);
  });
