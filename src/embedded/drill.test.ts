import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { parse } from 'yaml';
import type { JsonObject } from '../core/json.ts';
import { maintenance } from '../generations/maintenance.ts';
import { Operator } from '../operator/operator.ts';
import { HandClock } from '../support/hand-clock.ts';
import { silentLog } from '../support/log.ts';
import { createCluster } from './cluster.ts';
import { isReady, nodeOf } from './controllers/pods.ts';
import { writesOn } from './controllers/writes.ts';
import { inProcess } from './in-process.ts';
import { Life } from './life.ts';
import { at, part, type Stored } from './object.ts';
import { seeded } from './seeded.ts';

/** The operator itself on an embedded cluster that lives, in made-up time: what takes minutes is over in a moment, and always the same. */

const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: '', lastHeartbeatTime: null, lastTransitionTime: null };
const crd = parse(readFileSync(new URL('../../deploy/crds/maintenances.drydock.dev.yaml', import.meta.url), 'utf8')) as JsonObject;

const drill = (seed: number) => {
  const clock = new HandClock();
  const cluster = createCluster({ clock, random: seeded(seed) });
  const { machine } = cluster;
  const { store } = machine;
  const writes = writesOn(machine);
  const make = (resource: string, draft: JsonObject): Stored => {
    const written = writes.create(resource, draft);
    if (written.kind === 'refused') throw new Error(written.message);
    return written.object;
  };
  make('customresourcedefinitions.apiextensions.k8s.io', crd);
  make('namespaces', { metadata: { name: 'shop' } });
  const life = new Life({ machine, clock, pace: { startMs: 3000, stopMs: 5000, spread: 0.3 } });
  life.start();
  for (const name of ['n1', 'n2', 'n3']) {
    const metadata = { name, labels: { 'kubernetes.io/hostname': name } };
    make('nodes', { metadata, status: { allocatable: { cpu: '64', memory: '256Gi', pods: '110' }, conditions: [ready] } });
  }
  const ports = inProcess(cluster, { userAgent: 'drydock' });
  const operator = new Operator({
    api: ports,
    watcher: ports,
    recorder: { record: () => {} },
    meter: { evicted: () => {}, wrote: () => {}, decided: () => {} },
    fence: { mayAct: () => true },
    clock,
    log: silentLog,
    dialects: [maintenance('medik8s-leases')],
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
  });
  const stop = new AbortController();
  const running = operator.run(stop.signal);
  const end = async (): Promise<void> => {
    stop.abort();
    await clock.advance(100);
    await running;
    life.stop();
  };
  return { clock, store, writes, make, end };
};

const shop = (kind: string, name: string, spec: JsonObject): JsonObject => ({
  kind,
  metadata: { name, namespace: 'shop' },
  spec: {
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'main', image: 'example.test/none:1' }] } },
    ...spec,
  },
});

/** All that happens, change by change with its moment, as one digest. */
const play = async (seed: number): Promise<string> => {
  const { clock, store, writes, make, end } = drill(seed);
  const tale = createHash('sha256');
  store.subscribe(({ type, resource, object }) => {
    tale.update(`${clock.now().epochMilliseconds} ${type} ${resource} ${JSON.stringify(object)}\n`);
  });
  make('deployments.apps', shop('Deployment', 'web', { replicas: 12 }));
  make('daemonsets.apps', shop('DaemonSet', 'agent', {}));
  make('poddisruptionbudgets.policy', {
    metadata: { name: 'web', namespace: 'shop' },
    spec: { maxUnavailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  await clock.advance(20_000);
  const web = (): readonly Stored[] => store.list('pods', 'shop').filter(({ metadata }) => metadata.labels?.['app'] === 'web');
  assert.equal(web().filter(isReady).length, 12);
  let fewest = 12;
  const unsubscribe = store.subscribe(() => {
    fewest = Math.min(fewest, web().filter(pod => isReady(pod) && pod.metadata.deletionTimestamp === undefined).length);
  }, 'pods');
  const before = store.get('nodes', '', 'n1');
  make('maintenances.drydock.dev', {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: { name: 'disk' },
    spec: { nodeName: 'n1' },
  });
  await clock.advance(10 * 60_000);
  const status = part(store.get('maintenances.drydock.dev', '', 'disk'), 'status');
  assert.equal(status['phase'], 'Drained', JSON.stringify(status));
  assert.equal(fewest, 11, 'the budget was used, and never exceeded');
  assert.deepEqual(
    store.indexed('pods', 'spec.nodeName', 'n1').map(({ metadata }) => metadata.labels?.['app']),
    ['agent'],
  );
  assert.ok(web().every(pod => nodeOf(pod) !== 'n1'));
  writes.remove('maintenances.drydock.dev', '', 'disk');
  await clock.advance(5000);
  assert.equal(store.get('maintenances.drydock.dev', '', 'disk'), undefined);
  const after = store.get('nodes', '', 'n1');
  assert.deepEqual([at(after, 'spec'), after?.metadata.labels], [at(before, 'spec'), before?.metadata.labels]);
  unsubscribe();
  await end();
  return tale.digest('hex');
};

test('a maintenance runs its whole life: drained by the budget, held, given back as it was', async () => {
  await play(1);
});

test('the same seed is the same maintenance, bit for bit', async () => {
  assert.equal(await play(2), await play(2));
  assert.notEqual(await play(2), await play(3));
});
