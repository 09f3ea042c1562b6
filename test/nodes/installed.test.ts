import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { defaultNamespace as home } from '@drydock/cli/install';
import { create, getNode, nodesReady, podPath, podsOn } from '../control-plane/objects/cluster.ts';
import { namespace } from '../control-plane/objects/manifests.ts';
import { isReady } from '../control-plane/objects/objects.ts';
import { waitFor } from '../control-plane/wait.ts';
import {
  maintenance,
  maintenancePath,
  remove,
  untilMaintenance,
} from '../operator/harness/look.ts';
import { type NodeBed, skipOf, startBed } from './bed.ts';
import { identityCases } from './cases/identities.ts';
import { metricsCase } from './cases/metrics.ts';
import { planCases } from './cases/plans.ts';
import { powerCases } from './cases/power.ts';
import {
  beganAt,
  failures,
  figure,
  keepCreating,
  maxLength,
  processesOf,
  rssOf,
  seconds,
} from './figures.ts';
import { podReady, realDeployment } from './pods.ts';
import {
  anotherLeads,
  installByChart,
  leader,
  leadingProcess,
  replicas,
  tryCreate,
  untilSettled,
} from './product.ts';

/**
 * The released image, installed by the released chart, on three nodes: what becomes of it when its
 * own pods and nodes go.
 */

const started = await startBed({ nodes: 3, product: true });
const skip = skipOf(started);
const bed = started as NodeBed;
const shop = 'shop';

describe('the released image on real nodes', { skip, timeout: 400_000 }, () => {
  const { api } = bed;
  let warnings = '';

  before(async () => {
    const since = performance.now();
    warnings = (await installByChart(bed)).stderr;
    console.log(`installed and settled in ${seconds(performance.now() - since)}`);
    await create(api, namespace(shop), realDeployment('web', 3, { namespace: shop }));
  });
  after(() => bed.stop());
  beforeEach(async () => {
    await untilSettled(bed);
  });

  test('runs as nobody, on a read-only root, within its memory, under restricted pod security', async t => {
    figure(t, 'warnings of helm install', JSON.stringify(warnings));
    for (const pod of await replicas(api)) {
      const [pid = 0] = processesOf(pod);
      const exec = (...command: readonly string[]) =>
        bed.controlPlane.kubectl([
          '-n',
          home,
          'exec',
          pod.metadata.name,
          '--',
          '/usr/local/bin/node',
          '-p',
          ...command,
        ]);
      const { stdout } = await exec(
        '[process.getuid(), v8.getHeapStatistics().heap_size_limit, process.constrainedMemory()].join()',
      );
      const [uid, heap, memory] = stdout.trim().split(',').map(Number);
      assert.deepEqual([uid, memory], [65_532, 512 * 2 ** 20]);
      const write = await exec(
        'try { fs.writeFileSync("/drydock/x", "") } catch (error) { error.code }',
      );
      assert.equal(write.stdout.trim(), 'EROFS');
      figure(
        t,
        `RSS of ${pod.metadata.name}`,
        `${rssOf(pid).toFixed(0)} MiB; limit of V8's heap ${((heap ?? 0) / 2 ** 20).toFixed(0)} MiB`,
      );
    }
    const allowed = await api.call('POST', `/api/v1/namespaces/${home}/pods?dryRun=All`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'loose' },
      spec: { containers: [{ name: 'main', image: 'example.test/none:1' }] },
    });
    assert.match(JSON.stringify(allowed.body), /violates PodSecurity/);
  });

  test('the webhook is reached through its Service', async () => {
    const { status, body } = await tryCreate(api, 'nowhere');
    assert.equal(status, 403, JSON.stringify(body));
    assert.match(JSON.stringify(body), /no node with name nowhere found/);
  });

  test('creates go on while the replicas are rolled', async t => {
    const before = new Set((await replicas(api)).map(({ metadata }) => metadata.uid));
    const creating = keepCreating(api, 'node-3', 4);
    const since = performance.now();
    const rolled = await bed.controlPlane.kubectl([
      '-n',
      home,
      'rollout',
      'restart',
      'deployment/drydock',
    ]);
    assert.equal(rolled.code, 0, rolled.stderr);
    await waitFor(
      'two new replicas',
      async () => {
        const found = await replicas(api);
        const fresh = found.filter(pod => !before.has(pod.metadata.uid) && isReady(pod));
        return fresh.length === 2 && found.length === 2
          ? { done: undefined }
          : { yet: `${fresh.length} of ${found.length}` };
      },
      { deadlineMs: 90_000 },
    );
    const took = performance.now() - since;
    const attempts = await creating.stop();
    figure(t, 'rolling both replicas', seconds(took));
    const failed = attempts.filter(({ failure }) => failure !== undefined).length;
    figure(
      t,
      'creates while rolling',
      `${attempts.length}, ${failed} failed, longest ${maxLength(attempts).toFixed(0)} ms`,
    );
    for (const failure of failures(attempts)) figure(t, 'failed', failure);
    assert.equal(failed, 0);
  });

  test('a container that is killed comes back; started, serving, Ready', async t => {
    const standby = await waitFor('the replica that stands by', async () => {
      const { metadata } = await leader(api);
      const other = (await replicas(api)).find(pod => pod.metadata.uid !== metadata.uid);
      return other === undefined ? { yet: 'none' } : { done: other };
    });
    const [pid = 0] = processesOf(standby);
    process.kill(pid, 'SIGKILL');
    const next = await waitFor('another container', async () => {
      const found = processesOf(standby).find(one => one !== pid);
      return found === undefined ? { yet: 'none' } : { done: found };
    });
    const began = beganAt(next);
    const { podIP = '' } = standby.status;
    await waitFor('it to serve', async () => {
      const { status } = await fetch(`http://${podIP}:8081/readyz`);
      return status === 200 ? { done: undefined } : { yet: String(status) };
    });
    const serving = Date.now() - began;
    await podReady(api, home, standby.metadata.name);
    figure(
      t,
      'container started → serving → Ready',
      `${seconds(serving)} → ${seconds(Date.now() - began)}`,
    );
  });

  test('the leader is killed: the other leads', async t => {
    const [process_, pod] = [await leadingProcess(api), await leader(api)];
    const [pid = 0] = processesOf(pod);
    const since = performance.now();
    process.kill(pid, 'SIGKILL');
    await anotherLeads(api, process_);
    figure(
      t,
      'kill -9 of the leader: until another process leads',
      seconds(performance.now() - since),
    );
  });

  test('the leader’s pod is deleted: it hands over the lease', async t => {
    const [process_, pod] = [await leadingProcess(api), await leader(api)];
    const since = performance.now();
    await api.call('DELETE', podPath(home, pod.metadata.name));
    const free = await anotherLeads(api, process_);
    const took = seconds(performance.now() - since);
    figure(
      t,
      'deletion of the leader’s pod: until another process leads',
      `${took}, ${seconds(free)} of them after the lease was given back`,
    );
  });

  test('a Maintenance of the leader’s node: leadership moves, the pods are elsewhere, and everything comes back', async t => {
    const [process_, pod] = [await leadingProcess(api), await leader(api)];
    const nodeName = pod.spec.nodeName ?? '';
    const face = (await getNode(api, nodeName)).spec;
    const since = performance.now();
    await create(api, maintenance('of-the-leader', { nodeName }));
    const free = await anotherLeads(api, process_);
    figure(
      t,
      'Maintenance of the leader’s node: until another leads',
      seconds(performance.now() - since),
    );
    figure(t, 'the lease is handed over: nobody leads', seconds(free));
    await untilMaintenance(api, 'of-the-leader', 'Drained');
    figure(t, 'until Drained', seconds(performance.now() - since));
    const left = await podsOn(api, nodeName);
    assert.deepEqual(
      left.map(({ metadata }) => metadata.name),
      [],
    );
    await untilSettled(bed);
    await bed.node(nodeName).reboot();
    await remove(api, maintenancePath('of-the-leader'));
    await nodesReady(api, [nodeName]);
    await waitFor('the node to be as it was', async () => {
      const { spec } = await getNode(api, nodeName);
      return JSON.stringify(spec) === JSON.stringify(face)
        ? { done: undefined }
        : { yet: JSON.stringify(spec) };
    });
  });

  identityCases(bed);
  planCases(bed);
  metricsCase(bed);
  powerCases(bed);
});
