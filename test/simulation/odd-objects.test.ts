import assert from 'node:assert/strict';
import { test } from 'node:test';
import { machineAdapter } from '../../src/apis/machine-adapter.ts';
import { served } from '../../src/apis/served.ts';
import { signals } from '../../src/cli/manager/scanner.ts';
import { isObject } from '../../src/core/json.ts';
import { seeded } from '../../src/embedded/seeded.ts';
import { ReflectorStore } from '../../src/kube/watch/reflector-store.ts';
import { namespacesOf } from '../../src/operator/cache/namespaces.ts';
import { MachineManager } from '../../src/operator/machines/machine-manager.ts';
import { NodeReconciler } from '../../src/operator/node/node-reconciler.ts';
import type { Watcher } from '../../src/operator/ports.ts';
import { FakeCluster } from '../../src/operator/testing/fake-cluster.ts';
import { Lines, Notebook, settle, Tallies } from '../../src/operator/testing/fakes.ts';
import { VirtualClock } from '../../src/support/virtual-clock.ts';
import { oddObject } from './odd-objects.ts';

/** So many objects; `DRYDOCK_ODD_OBJECTS=100000` for the whole of it. */
const count = Number(process.env['DRYDOCK_ODD_OBJECTS'] ?? 6000);

/** As the reflector does it: what a watch cannot read, or a handler throws at, is told, and the watch goes on. */
const throughStore = (cluster: FakeCluster, told: (what: string) => void): Watcher => ({
  watch: (collection, project, sink, signal) => {
    const store = new ReflectorStore(collection.path, project, sink, {
      log: new Lines(),
      onDefect: (path, object, error) => told(`${path} ${object} ${String(error)}`),
    });
    const identify = (raw: unknown) =>
      (raw as { readonly metadata: { readonly name: string; readonly uid: string; readonly resourceVersion: string } }).metadata;
    const seen = (raw: unknown) => ({ key: identify(raw).name, ...identify(raw), raw });
    return cluster.watch(
      collection,
      seen,
      {
        changed: change => {
          const { name, uid, resourceVersion, raw } = change.object;
          if (change.type === 'removed') store.remove({ name, uid, resourceVersion }, raw);
          else store.put({ name, uid, resourceVersion }, raw);
        },
        synced: () => sink.synced(),
        failing: ({ message, status, retryInMs }) => store.failing(message, status, retryInMs),
      },
      signal,
    );
  },
});

/** The operator with all its rooms, fed with odd objects; answers what was told of throws, and the largest status that was written. */
const fed = async (seed: number, objects: number, wrongTypes: number) => {
  const [cluster, clock, meter, log] = [new FakeCluster(), new VirtualClock(), new Tallies(), new Lines()];
  const unread: string[] = [];
  const adapters = served({ leaseNamespace: 'leases', operatorNamespace: 'leases' });
  const namespaces = namespacesOf('drydock-system', []);
  const common = {
    api: cluster,
    watcher: throughStore(cluster, what => unread.push(what)),
    recorder: new Notebook(),
    meter,
    fence: { mayAct: () => true },
    clock,
    log,
    adapters,
    namespaces,
  };
  const operator = new NodeReconciler({
    ...common,
    readWindow: machineAdapter.readWindow,
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
  });
  const manager = new MachineManager({
    ...common,
    cache: operator.cache,
    adapter: machineAdapter,
    limits: { perSet: 1, perZone: 1 },
    drainLeadSeconds: 1800,
    namespace: 'drydock-system',
    scanner: { scan: async source => ({ source: source.name, looked: new Set(), events: [], unknown: [] }) },
    signals,
  });
  const stop = new AbortController();
  const running = Promise.all([operator.run(stop.signal), manager.run(stop.signal)]);
  const chance = seeded(seed);
  for (let index = 0; index < objects; index += 1) {
    const [path, object] = oddObject(chance, index % 40, wrongTypes);
    cluster.put(path, object);
    if (index % 10 !== 9) continue;
    for (let turn = 0; turn < 3; turn += 1) await settle();
    await clock.advance(chance() < 0.2 ? 60_000 : 500);
  }
  const statuses = cluster.calls
    .filter(({ path }) => path.endsWith('/status'))
    .map(({ body }) => JSON.stringify(isObject(body) ? body['status'] : null).length);
  stop.abort();
  const ended = { yes: false };
  void running.finally(() => Object.assign(ended, { yes: true }));
  for (let turn = 0; turn < 1000 && !ended.yes; turn += 1) await clock.advance(50);
  assert.ok(ended.yes, 'it ends when it is told to');
  const errors = log.lines
    .filter(({ level }) => level === 'error')
    .map(
      ({ fields }) =>
        `${String(fields['controller'])} ${String(fields['object'])}: ${String((fields['error'] as Error | undefined)?.stack)}`,
    );
  return { unread, panics: meter.panics, errors, decisions: meter.decisions, largest: Math.max(0, ...statuses) };
};

test('objects with the ends of every type in them are worked with, without a throw, and statuses stay small', async () => {
  const { unread, panics, errors, decisions, largest } = await fed(20_261_122, count, 0);
  assert.deepEqual([unread.slice(0, 3), errors.slice(0, 3), panics.length], [[], [], 0]);
  assert.ok(decisions > count / 20, `the operator has decided ${decisions} times`);
  assert.ok(largest < 256 * 1024, `the largest status has ${largest} characters`);
});

test('of objects with wrong types none ends a loop or a watch: what cannot be worked with is counted, and all else goes on', async () => {
  const { unread, decisions } = await fed(7, 6000, 0.3);
  assert.ok(unread.length > 0, 'some could not be read');
  assert.ok(decisions > 300, `the operator has decided ${decisions} times`);
});
