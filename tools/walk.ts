import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import type { JsonObject } from '@drydock/apimachinery';
import { served } from '@drydock/apis';
import { inProcess, text } from '@drydock/kube-sim';
import { bench, freshNode } from '@drydock/kube-sim/testing';
import { controllerManager, noMeter } from '@drydock/operator';
import { machineHarness, shop } from '@drydock/operator/testing';
import { PanicHandler, silentLog } from '@drydock/utils';
import { parse } from 'yaml';

/**
 * Counts what a newcomer walks through: the files and the named functions that the operator enters
 * between an object and the first eviction that comes of it, on a cluster in simulated time.
 */

/** What one walk enters, by package. */
export type Walk = {
  readonly name: string;
  readonly files: ReadonlyMap<string, readonly string[]>;
};

/** Packages that know nothing of maintenances: read like client-go, once and by their READMEs. */
const libraries: readonly string[] = ['apimachinery', 'cel', 'kube-client', 'utils'];

const source = /\/packages\/(?!kube-sim\/)([a-z-]+\/src\/(?!.*\/?testing\/).*\.ts)$/;

/** Runs a piece of work, and returns the functions that were entered in it, by file. */
async function enteredIn(work: () => Promise<void>): Promise<Walk['files']> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  return new Map(
    result.flatMap(({ url, functions }) => {
      const [, file = ''] = source.exec(url) ?? [];
      const names = functions
        .filter(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0)
        .map(({ functionName }) => functionName);
      return file === '' || names.length === 0 ? [] : [[file, names] as const];
    }),
  );
}

const crds = [
  'maintenances.drydock.dev',
  'maintenanceplans.drydock.dev',
  'maintenanceplanrecords.drydock.dev',
  'maintenanceapprovals.drydock.dev',
  'maintenancewindows.drydock.dev',
  'nodemaintenances.nodemaintenance.medik8s.io',
];

const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: null, lastTransitionTime: null };

/** Starts the operator on a cluster of three nodes with a workload; nothing is to be done yet. */
async function quietCluster() {
  const world = bench();
  const { cluster, clock, make } = world;
  for (const name of crds) {
    const file = new URL(`../deploy/crds/${name}.yaml`, import.meta.url);
    make(
      'customresourcedefinitions.apiextensions.k8s.io',
      parse(readFileSync(file, 'utf8')) as JsonObject,
    );
  }
  for (const name of ['medik8s-leases', 'drydock-system', 'drydock-plans'])
    make('namespaces', { metadata: { name } });
  for (const name of ['n1', 'n2', 'n3']) make('nodes', freshNode(name, { conditions: [ready] }));
  make('deployments.apps', shop('Deployment', 'web', { replicas: 6 }));
  const api = inProcess(cluster, { userAgent: 'drydock' });
  const log = silentLog;
  const manager = controllerManager({
    api,
    watcher: api,
    recorder: { record: () => {} },
    meter: noMeter,
    fence: { mayAct: () => true },
    clock,
    log,
    defects: new PanicHandler({ log }),
    adapters: served({ leaseNamespace: 'medik8s-leases', operatorNamespace: 'drydock-system' }),
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
    haltLease: { namespace: 'drydock-system', name: 'drydock' },
    machines: {
      limits: { perSet: 1, perZone: 0, nodes: 1 },
      drainLeadSeconds: 300,
      namespace: 'drydock-system',
    },
  });
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await clock.advance(120_000);
  return {
    ...world,
    end: async (): Promise<void> => {
      stop.abort();
      for (let waited = 0; waited < 60; waited += 1) await clock.advance(1000);
      await running;
      world.runtime.stop();
    },
  };
}

async function walkOf(name: string, resource: string, object: JsonObject): Promise<Walk> {
  const { clock, make, store, end } = await quietCluster();
  const isEvicting = (): boolean =>
    store.list('pods', 'shop').some(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const files = await enteredIn(async () => {
    make(resource, object);
    for (let steps = 0; steps < 6000 && !isEvicting(); steps += 1) await clock.advance(10);
  });
  if (!isEvicting())
    throw new Error(`${name}: nothing was evicted: ${JSON.stringify(store.list(resource))}`);
  await end();
  return { name, files };
}

async function walkOfCloudEvent(): Promise<Walk> {
  const harness = await machineHarness({ flavour: 'capi', replicas: 3 });
  harness.make('deployments.apps', shop('Deployment', 'web', { replicas: 6 }));
  await harness.clock.advance(30_000);
  const stop = harness.start();
  await harness.clock.advance(120_000);
  const [machine] = harness.machines();
  if (machine === undefined) throw new Error('the cluster has no machine');
  const isEvicting = (): boolean =>
    harness.store
      .list('pods', 'shop')
      .some(({ metadata }) => metadata.deletionTimestamp !== undefined);
  const files = await enteredIn(async () => {
    harness.cloud.announce(harness.instanceOf(machine), { kind: 'retirement', inSeconds: 3600 });
    for (let steps = 0; steps < 60_000 && !isEvicting(); steps += 1)
      await harness.clock.advance(100);
  });
  if (!isEvicting())
    throw new Error(
      `a cloud event: nothing was evicted: ${text(harness.maintenanceOf(machine.metadata.name), 'status', 'message')}`,
    );
  await stop();
  harness.end();
  return { name: 'a cloud event', files };
}

/** The three walks: a NodeMaintenance, a node of a plan, and an event that a cloud announces. */
export async function walks(): Promise<readonly Walk[]> {
  return [
    await walkOf('a NodeMaintenance', 'nodemaintenances.nodemaintenance.medik8s.io', {
      metadata: { name: 'disk' },
      spec: { nodeName: 'n1', reason: 'a new disk' },
    }),
    await walkOf('a node of a plan', 'maintenanceplans.drydock.dev', {
      metadata: { name: 'kernel' },
      spec: { nodeSelector: {}, work: { none: {} }, concurrency: { maxInFlight: 1 } },
    }),
    await walkOfCloudEvent(),
  ];
}

/** Number of files and functions of a walk, in the libraries and beside them. */
export function sizeOf({ files }: Walk) {
  const isLibrary = (file: string): boolean => libraries.some(name => file.startsWith(`${name}/`));
  const count = (own: boolean) => {
    const some = [...files].filter(([file]) => isLibrary(file) !== own);
    return { files: some.length, functions: some.flatMap(([, names]) => names).length };
  };
  return { own: count(true), libraries: count(false) };
}

if (import.meta.main) {
  const list = process.argv.includes('--list');
  for (const walk of await walks()) {
    const { own, libraries: more } = sizeOf(walk);
    console.log(
      `${walk.name}: ${own.files} files, ${own.functions} functions; in libraries ${more.files} and ${more.functions}`,
    );
    if (list)
      for (const [file, names] of [...walk.files].toSorted(([a], [b]) => (a < b ? -1 : 1)))
        console.log(`  ${file}: ${names.join(' ')}`);
  }
}
