import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isObject } from '@drydock/apimachinery';
import { machineAdapter, planAdapter, served } from '@drydock/apis';
import { Observer } from '@drydock/dashboard';
import type { Watcher } from '@drydock/kube-client';
import { ReflectorStore } from '@drydock/kube-client';
import { seeded } from '@drydock/kube-sim';
import { type ControllerManager, controllerManager } from '@drydock/operator';
import {
  FakeCluster,
  FakeLog,
  FakeMeter,
  FakeRecorder,
  response,
  settle,
} from '@drydock/operator/testing';
import { type LogFields, PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import { oddObject } from './odd-objects.ts';
import { machineApis } from './odd-platforms.ts';

/** So many objects; `DRYDOCK_ODD_OBJECTS=100000` for the whole of it. */
const count = Number(process.env['DRYDOCK_ODD_OBJECTS'] ?? 6000);

/**
 * As the reflector does it: what a watch cannot read, or a handler throws at, is told, and the
 * watch goes on.
 */
function throughStore(cluster: FakeCluster, told: (what: string) => void): Watcher {
  return {
    watch: (collection, project, sink, signal) => {
      const log = {
        ...silentLog,
        error: (_message: string, { object, error }: LogFields = {}) =>
          told(`${String(object)} ${String(error)}`),
      };
      const store = new ReflectorStore(collection.path, project, sink, new PanicHandler({ log }));
      const identify = (raw: unknown) =>
        (
          raw as {
            readonly metadata: {
              readonly name: string;
              readonly uid: string;
              readonly resourceVersion: string;
            };
          }
        ).metadata;
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
          listed: ({ keys, version }) => store.retain(keys, version),
          // The store has told it.
          synced: () => {},
          failing: ({ message, status, retryInMs }) => store.failing(message, status, retryInMs),
        },
        signal,
      );
    },
  };
}

/** The machine APIs that the small cluster does not know of itself. */
function withMachineApis(cluster: FakeCluster): void {
  cluster.intercept = ({ path }) => {
    const plurals = machineApis[path];
    return plurals === undefined
      ? undefined
      : response(200, { resources: plurals.map(name => ({ name })) });
  };
}

type Fed = {
  readonly cluster: FakeCluster;
  readonly clock: VirtualClock;
  readonly log: FakeLog;
  readonly watcher: Watcher;
};

const adapters = served({ leaseNamespace: 'leases', operatorNamespace: 'leases' });

/** The operator with all its rooms. */
function operatorOf({ cluster, clock, log, watcher }: Fed, meter: FakeMeter): ControllerManager {
  return controllerManager({
    api: cluster,
    watcher,
    recorder: new FakeRecorder(),
    meter,
    fence: { mayAct: () => true },
    clock,
    log,
    defects: new PanicHandler({ log, meter }),
    adapters,
    evictionRequests: 'Auto',
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
    haltLease: { namespace: 'drydock-system', name: 'drydock' },
    machines: {
      limits: { perSet: 1, perZone: 1, nodes: '50%' },
      drainLeadSeconds: 1800,
      namespace: 'drydock-system',
      scanner: {
        scan: async source => ({ source: source.name, looked: new Set(), events: [], unknown: [] }),
      },
    },
  });
}

/** What the dashboard makes of the same objects. */
function observerOf({ clock, log, watcher }: Fed): Observer {
  return new Observer({
    watcher,
    adapters,
    machines: machineAdapter,
    plans: planAdapter,
    access: 'link',
    cluster: 'test',
    clock,
    log,
    defects: new PanicHandler({ log }),
  });
}

function errorsOf({ log }: Fed): readonly string[] {
  return log.lines
    .filter(({ level }) => level === 'error')
    .map(
      ({ fields }) =>
        `${String(fields['controller'])} ${String(fields['object'])}: ${String((fields['error'] as Error | undefined)?.stack)}`,
    );
}

/** The largest status of each kind that was written, by the plural of the kind. */
function largestStatuses({ cluster }: Fed): ReadonlyMap<string, number> {
  const largest = new Map<string, number>();
  for (const { path, body } of cluster.calls) {
    if (!path.endsWith('/status')) continue;
    const plural = path.split('/').at(-3) ?? '';
    const size = JSON.stringify(isObject(body) ? body['status'] : null).length;
    largest.set(plural, Math.max(size, largest.get(plural) ?? 0));
  }
  return largest;
}

/** Puts odd objects into the cluster, and gives everybody the time to work with them. */
async function feed(
  { cluster, clock }: Fed,
  seed: number,
  objects: number,
  wrongTypes: number,
): Promise<void> {
  const chance = seeded(seed);
  for (let index = 0; index < objects; index += 1) {
    const [path, object] = oddObject(chance, index % 40, wrongTypes);
    cluster.put(path, object);
    if (index % 10 !== 9) continue;
    for (let turn = 0; turn < 3; turn += 1) await settle();
    await clock.advance(chance() < 0.2 ? 60_000 : 500);
  }
}

/**
 * Operator and dashboard, fed with odd objects; returns what was reported of throws, and the
 * largest statuses that were written.
 */
async function fed(seed: number, objects: number, wrongTypes: number) {
  const [cluster, meter] = [new FakeCluster(), new FakeMeter()];
  withMachineApis(cluster);
  const unread: string[] = [];
  const place = {
    cluster,
    clock: new VirtualClock(),
    log: new FakeLog(),
    watcher: throughStore(cluster, what => unread.push(what)),
  };
  const stop = new AbortController();
  const observer = observerOf(place);
  const running = Promise.all([
    operatorOf(place, meter).run(stop.signal),
    observer.run(stop.signal),
  ]);
  await feed(place, seed, objects, wrongTypes);
  const scene = observer.scene();
  const largest = largestStatuses(place);
  stop.abort();
  const ended = { yes: false };
  void running.finally(() => Object.assign(ended, { yes: true }));
  for (let turn = 0; turn < 1000 && !ended.yes; turn += 1) await place.clock.advance(50);
  assert.ok(ended.yes, 'it ends when it is told to');
  return {
    unread,
    panics: meter.panics,
    errors: errorsOf(place),
    decisions: meter.decisions,
    largest,
    scene,
  };
}

test('objects with the ends of every type in them are worked with, without a throw, and statuses stay small', async () => {
  const { unread, panics, errors, decisions, largest, scene } = await fed(20_261_122, count, 0);
  assert.deepEqual([unread.slice(0, 3), errors.slice(0, 3), panics.length], [[], [], 0]);
  assert.ok(decisions > count / 40, `the operator has decided ${decisions} times`);
  for (const kind of ['maintenances', 'machinemaintenances', 'maintenanceplans'])
    assert.ok(largest.has(kind), `a status of ${kind}`);
  for (const [kind, size] of largest)
    assert.ok(size < 256 * 1024, `the largest status of ${kind} has ${size} characters`);
  assert.ok(
    scene.nodes.length > 0 && scene.machines.length > 0 && scene.plans.length > 0,
    'the dashboard shows nodes, machines and plans',
  );
});

test('of objects with wrong types none ends a loop or a watch: what cannot be worked with is counted, and all else goes on', async () => {
  const { unread, decisions, scene } = await fed(7, 6000, 0.3);
  assert.ok(unread.length > 0, 'some could not be read');
  assert.ok(decisions > 150, `the operator has decided ${decisions} times`);
  assert.ok(scene.nodes.length > 0, 'the dashboard shows nodes');
});
