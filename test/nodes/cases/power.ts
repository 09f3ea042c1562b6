import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { collectionOf, getNode, nodesReady } from '../../control-plane/objects/cluster.ts';
import { run } from '../../control-plane/processes/command.ts';
import { waitFor } from '../../control-plane/wait.ts';
import {
  maintenance,
  maintenancePath,
  remove,
  untilMaintenance,
} from '../../operator/harness/look.ts';
import type { NodeBed } from '../bed.ts';
import {
  type Attempt,
  failures,
  figure,
  keepCreating,
  killContainer,
  maxLength,
  seconds,
} from '../figures.ts';
import {
  anotherLeads,
  leader,
  leadingProcess,
  type Replica,
  replicas,
  tryCreate,
  untilSettled,
} from '../product.ts';

/** Addresses of the replicas to which the API server has a connection. */
async function connected(): Promise<string> {
  return (await run('/usr/bin/ss', ['-Htn', 'state', 'established', 'dport = :9443'])).stdout;
}

async function othersThan(bed: NodeBed, { metadata }: Replica): Promise<readonly Replica[]> {
  return (await replicas(bed.api)).filter(pod => pod.metadata.uid !== metadata.uid);
}

/**
 * Has the API server's connection to the webhook end at the leader: while the other's container is
 * away it cannot connect to anybody else.
 */
async function connectToLeader(bed: NodeBed, to: Replica): Promise<void> {
  const others = await othersThan(bed, to);
  await Promise.all(
    others.map(other => killContainer(bed.api, other)).concat(untilConnected(bed, to, others)),
  );
}

function untilConnected(bed: NodeBed, to: Replica, others: readonly Replica[]): Promise<void> {
  return waitFor(
    'the API server to be connected to the leader alone',
    async () => {
      await tryCreate(bed.api, 'node-1');
      const peers = await connected();
      const isAlone = others.every(({ status }) => !peers.includes(`${status.podIP}:9443`));
      return peers.includes(`${to.status.podIP}:9443`) && isAlone
        ? { done: undefined }
        : { yet: peers };
    },
    { everyMs: 20 },
  );
}

/** When the last one failed that has ended so far. */
function lastFailure(attempts: readonly Attempt[], since: number): number {
  return Math.max(
    since,
    ...attempts.filter(({ failure }) => failure !== undefined).map(({ at, tookMs }) => at + tookMs),
  );
}

/**
 * Until a hundred creates have succeeded since the last that failed, and longer than the API server
 * waits for a webhook.
 */
function untilQuiet(attempts: readonly Attempt[], since: number): Promise<void> {
  return waitFor(
    'creates to succeed again',
    async () => {
      const last = lastFailure(attempts, since);
      const good = attempts.filter(({ at }) => at > last).length;
      return good >= 100 && performance.now() - last > 16_000
        ? { done: undefined }
        : { yet: `${good} since the last failure` };
    },
    { deadlineMs: 120_000, everyMs: 500 },
  );
}

/** The API server and etcd are elsewhere: the leader alone is cut off, and lives on. */
function partitionCase(bed: NodeBed): void {
  const { api } = bed;
  test('the leader’s node loses its network: the other leads and works, and the one that was cut off does not come between', async t => {
    const before = await leadingProcess(api);
    const { spec } = await leader(api);
    const node = bed.node(spec.nodeName ?? '');
    const spare = bed.nodes.find(one => one !== node)?.name ?? '';
    const since = performance.now();
    await node.cutNetwork();
    await anotherLeads(api, before);
    const took = performance.now() - since;
    figure(t, 'network loss of the leader’s node: until another leads', seconds(took));
    assert.ok(took < 15_000);
    const now = await leadingProcess(api);
    const cordon = maintenance('cut-off', { nodeName: spare, level: 'Cordon' });
    // The API server may still call the replica that it cannot reach.
    await waitFor(
      'the maintenance to be accepted',
      async () => {
        const { status, body } = await api.call(
          'POST',
          collectionOf('drydock.dev/v1alpha1', 'Maintenance'),
          cordon,
        );
        return status === 201 ? { done: undefined } : { yet: JSON.stringify(body) };
      },
      { deadlineMs: 60_000 },
    );
    await untilMaintenance(api, 'cut-off', 'Cordoned');
    await node.mendNetwork();
    await nodesReady(api, [node.name], { deadlineMs: 90_000 });
    await untilSettled(bed);
    assert.equal(await leadingProcess(api), now);
    await remove(api, maintenancePath('cut-off'));
    assert.equal((await getNode(api, spare)).spec.unschedulable, undefined);
  });
}

/** On a bed with the product installed by its chart, and settled. */
export function powerCases(bed: NodeBed): void {
  const { api } = bed;
  partitionCase(bed);
  test('the leader’s node loses its power, and the API server was connected to that replica', async t => {
    const pod = await leader(api);
    await connectToLeader(bed, pod);
    const process_ = await leadingProcess(api);
    assert.ok(process_.startsWith(pod.metadata.name));
    const node = bed.node(pod.spec.nodeName ?? '');
    const spare = bed.nodes.find(one => one !== node)?.name ?? '';
    const creating = keepCreating(api, spare, 4);
    await sleep(1000);
    const since = performance.now();
    await node.crash();
    await anotherLeads(api, process_);
    figure(
      t,
      'power loss of the leader’s node: until another leads',
      seconds(performance.now() - since),
    );
    await untilQuiet(creating.attempts, since);
    const attempts = await creating.stop();
    figure(
      t,
      'power loss: the last create fails after',
      seconds(lastFailure(attempts, since) - since),
    );
    const failed = attempts.filter(({ failure }) => failure !== undefined);
    figure(
      t,
      'creates after the power loss',
      `${attempts.length}, ${failed.length} failed, longest ${seconds(maxLength(attempts))}`,
    );
    for (const failure of failures(attempts)) figure(t, 'failed', failure);
    await node.boot();
    await nodesReady(api, [node.name], { deadlineMs: 90_000 });
    await untilSettled(bed);
  });
}
