import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { create, nodesReady } from '../test/control-plane/objects/cluster.ts';
import { node } from '../test/control-plane/objects/manifests.ts';
import { waitFor } from '../test/control-plane/wait.ts';
import { startOpenStack } from '../test/nova/bed/bed.ts';
import { Cloud, makeServer } from '../test/nova/cloud.ts';
import { startHarness } from '../test/operator/harness/harness.ts';
import { maintenance, maintenancePath, remove } from '../test/operator/harness/look.ts';

/**
 * How fast a hypervisor is emptied, beside a client that asks Nova for everything at once, on a
 * real Nova with its fake hypervisor.
 */

const hosts = ['compute-1', 'compute-2', 'compute-3'] as const;
const [source] = hosts;
const count = 20;
const every = 250;

type Measured = { readonly seconds: number; readonly calls: number };

const harness = await startHarness();
if (harness.kind === 'left-out') throw new Error(harness.why);
const openStack = await startOpenStack(harness.controlPlane, hosts, {
  migrationsAtOnce: Number(process.argv[2] ?? 1),
});
if (openStack.kind === 'left-out') throw new Error(openStack.why);
const cloud = new Cloud(openStack.environment);
const apiLog = join(harness.controlPlane.folder, 'openstack-nova-api.log');

async function fill(): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 4) {
    ids.push(
      ...(await Promise.all(
        [0, 1, 2, 3].map(more => makeServer(cloud, { host: source, name: `s${index + more}` })),
      )),
    );
  }
  return ids;
}

/** Calls that Nova's own log has of this agent; the bench's own are told apart by it. */
function callsOf(since: number): number {
  return readFileSync(apiLog, 'utf8')
    .slice(since)
    .split('\n')
    .filter(
      line =>
        line.includes('requestlog') && !line.includes('GET /v2.1/servers?all_tenants=1&host='),
    ).length;
}

function logged(): number {
  return readFileSync(apiLog, 'utf8').length;
}

/** From the first request until the host has no server. */
async function emptied(begin: () => Promise<unknown>): Promise<Measured> {
  const mark = logged();
  const started = performance.now();
  await begin();
  await waitFor(
    'the host to be empty',
    async () => {
      const left = await cloud.serversOn(source);
      return left.length === 0 ? { done: undefined } : { yet: `${left.length} servers` };
    },
    { deadlineMs: 600_000, everyMs: every },
  );
  return { seconds: (performance.now() - started) / 1000, calls: callsOf(mark) };
}

try {
  await cloud.open();
  for (const name of hosts) await create(harness.api, node(name));
  await nodesReady(harness.api, hosts);
  await harness.startOperator({
    flags: ['--openstack', '--openstack-interface=public'],
    environment: openStack.environment,
  });
  const ids = await fill();
  await cloud.disable(source, 'the bench');
  const floor = await emptied(() =>
    Promise.all(
      ids.map(id =>
        cloud.nova('POST', `/servers/${id}/action`, {
          'os-migrateLive': { host: null, block_migration: 'auto' },
        }),
      ),
    ),
  );
  await cloud.enable(source);
  for (const id of ids) await cloud.nova('DELETE', `/servers/${id}`);
  await fill();
  const drydock = await emptied(() => create(harness.api, maintenance(source)));
  await waitFor('the node to be drained', async () => {
    const { status } = await harness.api.get<{ readonly status?: { readonly phase?: string } }>(
      maintenancePath(source),
    );
    return status?.phase === 'Drained' ? { done: undefined } : { yet: JSON.stringify(status) };
  });
  await remove(harness.api, maintenancePath(source));
  const text = ({ seconds, calls }: Measured): string => `${seconds.toFixed(1)} s, ${calls} calls`;
  process.stdout.write(
    `${count} servers; at once: ${text(floor)}; drydock: ${text(drydock)}; rate ${(floor.seconds / drydock.seconds).toFixed(3)}\n`,
  );
} finally {
  await openStack.stop();
  await harness.stop();
}
