import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { UsageError } from '@drydock/utils';
import { serving } from '@drydock/utils/testing';
import { terminationNotice } from './agent.ts';

const name = 'TERMINATION_NOTICE_SECONDS';

test('the notice before a machine is stopped is settable, by flag and by variable; the flag wins', () => {
  assert.equal(terminationNotice({}, {}), undefined);
  assert.equal(terminationNotice({}, { [name]: '' }), undefined);
  assert.equal(terminationNotice({}, { [name]: '3600' }), 3600);
  assert.equal(terminationNotice({ terminationNoticeSeconds: '120' }, { [name]: '3600' }), 120);
  for (const wrong of ['0', '-1', 'an hour', '86401', '1e3', '60s', ' '])
    for (const set of [
      () => terminationNotice({ terminationNoticeSeconds: wrong }, {}),
      () => terminationNotice({}, { [name]: wrong }),
    ])
      assert.throws(
        set,
        (error: unknown) =>
          error instanceof UsageError && error.message.includes('whole seconds from 1 to 86400'),
        wrong,
      );
  assert.throws(() => terminationNotice({ terminationNoticeSeconds: '' }, {}), UsageError);
});

const main = join(import.meta.dirname, 'main.mjs');

/**
 * What an agent on a machine that Google is about to stop tells of its deadline, in seconds from
 * now.
 */
async function toldBy(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const documents: Readonly<Record<string, string>> = {
    name: 'gpu-1',
    'maintenance-event': 'TERMINATE_ON_HOST_MAINTENANCE',
  };
  await using metadata = await serving(({ path }) => {
    const text = documents[path.replace('/computeMetadata/v1/instance/', '')];
    return text === undefined ? { status: 404 } : { text };
  });
  const { promise: deadline, resolve } = Promise.withResolvers<string>();
  await using server = await serving(({ body }) => {
    const { spec } = JSON.parse(body) as {
      readonly spec: { readonly events: readonly { readonly deadline: string }[] };
    };
    const [event] = spec.events;
    if (event !== undefined) resolve(event.deadline);
    return {
      text: JSON.stringify({ metadata: { name: 'gpu-1' } }),
      headers: { 'content-type': 'application/json' },
    };
  });
  const folder = mkdtempSync(join(tmpdir(), 'drydock-agent-'));
  const config = join(folder, 'config');
  const clusters = `[{name: c, cluster: {server: '${server.base}'}}]`;
  writeFileSync(
    config,
    `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}], clusters: ${clusters}}`,
  );
  const flags = [
    'agent',
    '--provider=gcp',
    '--node-name=gpu-1',
    `--metadata-endpoint=${metadata.base}`,
    `--kubeconfig=${config}`,
    ...args,
  ];
  const child = spawn(process.execPath, [main, ...flags], {
    stdio: 'ignore',
    env: { ...process.env, ...env },
  });
  const ended = once(child, 'exit');
  try {
    const early = ended.then(([code]) => Promise.reject(new Error(`the agent has ended: ${code}`)));
    const at = Temporal.Instant.from(await Promise.race([deadline, early]));
    return at.since(Temporal.Now.instant()).total('seconds');
  } finally {
    child.kill();
    await ended;
    rmSync(folder, { recursive: true });
  }
}

test('a running agent tells its cluster of an hour where an hour is set, and of a minute where nothing is', async () => {
  const near = (seconds: number, wanted: number): void =>
    assert.ok(seconds > wanted - 20 && seconds <= wanted, `${seconds} of ${wanted}`);
  near(await toldBy([], { [name]: '' }), 60);
  near(await toldBy(['--termination-notice-seconds=3600'], {}), 3600);
  near(await toldBy([], { [name]: '1800' }), 1800);
});
