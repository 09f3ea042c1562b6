import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, test } from 'node:test';
import {
  type NewServer,
  OpenStack,
  OpenStackApi,
  serveOpenStack,
  simulatedUser,
} from '@drydock/kube-sim/nova';
import { systemClock } from '@drydock/utils';

const drainer = join(import.meta.dirname, '..', '..', '..', '..', 'scripts', 'drainer.mjs');

function start(cwd: string, env: Readonly<Record<string, string>>, args: readonly string[]) {
  const child = spawn(process.execPath, [drainer, ...args], {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: cwd, ...env },
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | null>();
  child.once('error', reject).once('close', resolve);
  const ended = Promise.all([text(child.stdout), text(child.stderr), promise]).then(
    ([out, err, code]) => {
      assert.doesNotMatch(err, /^\s+at /m, 'no stack trace, whatever happens');
      return { code, out, err };
    },
  );
  return { child, ended };
}

async function makeCloud(servers: readonly Partial<NewServer>[]) {
  const cloud = new OpenStack({
    clock: systemClock,
    hosts: ['compute-1', 'compute-2'],
    migrationMs: () => 300,
    pageSize: 2,
  });
  for (const [index, server] of servers.entries())
    cloud.addServer({ name: `s${index}`, host: 'compute-1', ...server });
  const { authUrl, ...serving } = await serveOpenStack(new OpenStackApi(cloud));
  const folder = mkdtempSync(join(tmpdir(), 'drydock-'));
  const config = {
    IdentityEndpoint: `${authUrl}/`,
    Username: simulatedUser.name,
    Password: simulatedUser.password,
    TenantName: 'admin',
    DomainID: 'default',
  };
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config));
  const end = async (): Promise<void> => {
    await serving[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true });
  };
  return { cloud, folder, authUrl, [Symbol.asyncDispose]: end };
}

describe('drainer', { concurrency: 2, timeout: 60_000 }, () => {
  test('without any flag it reads config.yaml and migrates all VMs, once', async () => {
    await using site = await makeCloud([
      {},
      { project: 'red' },
      { vmState: 'paused' },
      { vmState: 'stopped', project: 'red' },
    ]);
    const { code, out, err } = await start(site.folder, {}, ['-host', 'compute-1']).ended;
    assert.deepEqual([code, out], [0, 'All VMs migrated\n'], err);
    assert.deepEqual(site.cloud.on('compute-1'), []);
    for (const line of [
      /Disabling hypervisor\./,
      /Node disabled\./,
      /Retrive list of 4 VMs for this host\./,
      /VM: \S+ has been migrated\./,
    ]) {
      assert.match(err, line);
    }
    const back = await start(site.folder, {}, ['-release', '-host=compute-1']).ended;
    assert.deepEqual([back.code, back.out], [0, 'compute-1 is enabled\n']);
  });

  test('what cannot be moved is listed with reasons, and the exit code is 1', async () => {
    await using site = await makeCloud([{}, { vmState: 'error', name: 'broken' }]);
    const env = {
      OS_AUTH_URL: site.authUrl,
      OS_USERNAME: 'admin',
      OS_PASSWORD: 'secret',
      OS_PROJECT_NAME: 'admin',
    };
    const { code, out } = await start(tmpdir(), env, [
      '-run-once=true',
      '-time-out',
      '1',
      '--host=compute-1',
    ]).ended;
    assert.equal(code, 1);
    assert.match(
      out,
      /^1 of 2 VMs migrated; these are left on compute-1:\n {2}broken \(\S+\) Cannot: is in error.*\n {4}reset its state/,
    );
  });

  test('the list is JSON for machines', async () => {
    await using site = await makeCloud([{ vmState: 'error' }]);
    const { code, out } = await start(site.folder, {}, [
      '--host=compute-1',
      '--failed=Leave',
      '--output=json',
    ]).ended;
    const { empty, end, vms } = JSON.parse(out) as {
      readonly empty: boolean;
      readonly end: string;
      readonly vms: readonly { readonly state: string }[];
    };
    assert.deepEqual(
      [code, empty, end, vms.map(({ state }) => state)],
      [0, true, 'empty', ['Left']],
    );
  });

  test('SIGTERM in the middle ends it, and the next start goes on without moving anything twice', async () => {
    await using site = await makeCloud(Array.from({ length: 6 }, () => ({})));
    const first = start(site.folder, {}, ['--host=compute-1']);
    while (site.cloud.on('compute-1').length > 4) await systemClock.sleep(50);
    first.child.kill('SIGTERM');
    assert.equal((await first.ended).code, 1);
    const second = await start(site.folder, {}, ['--host=compute-1']).ended;
    assert.equal(second.code, 0, second.out);
    assert.equal(site.cloud.migrations.records.length, 6);
  });

  const wrong: readonly (readonly [string, readonly string[], RegExp])[] = [
    [
      'a host that there is not',
      ['--host=nosuch'],
      /^drydock: Cannot find nova-service with hostname: nosuch; Nova has compute-1, compute-2\. Name one/,
    ],
    [
      'both modes',
      ['-daemon', '-run-once'],
      /^drydock: choose one of --daemon, --run-once and --release/,
    ],
    [
      'a time that is none',
      ['-time-out', 'long', '--host=compute-1'],
      /^drydock: invalid value "long" for --time-out: expected a whole number/,
    ],
    [
      'a file that there is not',
      ['-config-path', 'none.yaml'],
      /^drydock: there is no file none\.yaml/,
    ],
    ['a policy that there is not', ['--stopped=Delete'], /Allowed choices are ColdMigrate, Leave/],
    [
      'a region that there is not',
      ['--region=Mars', '--host=compute-1'],
      /^drydock: the catalog has no region Mars .* it has RegionOne/,
    ],
  ];
  for (const [what, args, message] of wrong) {
    test(`${what} is one clear message, and 2`, async () => {
      await using site = await makeCloud([]);
      const { code, out, err } = await start(site.folder, {}, args).ended;
      assert.deepEqual([code, out], [2, ''], err);
      assert.match(err, message);
    });
  }
});
