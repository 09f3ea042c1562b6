import { readFileSync } from 'node:fs';
import type { JsonObject } from '@drydock/apimachinery';
import { machineAdapter, maintenance } from '@drydock/apis';
import type { MachineLimits } from '@drydock/core/machine';
import type { Api, Watcher } from '@drydock/kube-client';
import {
  at,
  ClusterRuntime,
  createCluster,
  inProcess,
  objects,
  type Stored,
  seeded,
  text,
} from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import {
  type Flavour,
  machineControllers,
  machineDefinitions,
  machineGroups,
  runsOn,
  SimulatedCloud,
} from '@drydock/kube-sim/machines';
import { PanicHandler, silentLog, VirtualClock } from '@drydock/utils';
import { parse } from 'yaml';
import { namespacesOf } from '../cache/node-cache.ts';
import { MachineManager } from '../machines/machine-manager.ts';
import { NodeReconciler } from '../node/node-reconciler.ts';
import { noMeter } from '../ports.ts';

/**
 * The operator with all its rooms on an embedded cluster whose machines a simulated cloud rents
 * out, in simulated time.
 */

const crdFiles = [
  'maintenances.drydock.dev',
  'maintenancewindows.drydock.dev',
  'machineeventsources.drydock.dev',
  'nodenotices.drydock.dev',
  'machinemaintenances.machinemaintenance.managed.openshift.io',
];

const namespaces = ['medik8s-leases', 'drydock-system', 'machines', 'shop'];

const mm = 'machinemaintenances.machinemaintenance.managed.openshift.io';

export type MachineDrillOptions = {
  readonly flavour: Flavour;
  readonly replicas: number;
  readonly seed?: number;
  /** Stands between the operator and the API server: to count, to fail, to end it. */
  readonly between?: (api: Api) => Api;
  readonly limits?: MachineLimits;
  /** Milliseconds from the order of a machine to its node. */
  readonly launchMs?: number;
};

/** Leases of nodes are nobody's business here. */
const never = Number.POSITIVE_INFINITY;

function crd(name: string): JsonObject {
  return parse(
    readFileSync(new URL(`../../../../deploy/crds/${name}.yaml`, import.meta.url), 'utf8'),
  ) as JsonObject;
}

/** A cluster with a set of machines and their nodes. */
async function furnished({ flavour, replicas, seed = 1, launchMs = 60_000 }: MachineDrillOptions) {
  const clock = new VirtualClock();
  const cluster = createCluster({ clock, random: seeded(seed) });
  const { registry } = cluster;
  const cloud = new SimulatedCloud(clock);
  const runtime = new ClusterRuntime({
    registry,
    clock,
    pace: { startMs: 2000, stopMs: 3000, spread: 0.2 },
    isAlive: runsOn(cloud),
    nodeHealth: { renewMs: never, graceMs: never },
    more: machineControllers({ flavour, cloud, launchMs }),
  });
  const writes = writesOn(registry);
  const make = (resource: string, draft: JsonObject): Stored => {
    const written = writes.create(resource, draft);
    if (written.kind === 'refused') throw new Error(written.message);
    return written.object;
  };
  for (const one of [...crdFiles.map(crd), ...machineDefinitions(flavour)])
    make('customresourcedefinitions.apiextensions.k8s.io', one);
  for (const name of namespaces) make('namespaces', { metadata: { name } });
  runtime.start();
  make(`machinesets.${machineGroups[flavour].group}`, {
    metadata: { name: 'workers', namespace: 'machines' },
    spec: { replicas, template: { metadata: {}, spec: { failureDomain: 'north' } } },
  });
  make('machineeventsources.drydock.dev', {
    metadata: { name: 'cloud' },
    spec: { aws: { intervalSeconds: 60 } },
  });
  await clock.advance(launchMs + 20_000);
  return { clock, cluster, cloud, runtime, writes, make };
}

type Furnished = Awaited<ReturnType<typeof furnished>>;

async function ended(running: Promise<unknown>, clock: VirtualClock): Promise<void> {
  const state = { over: false };
  void running.finally(() => Object.assign(state, { over: true }));
  for (let waited = 0; waited < 600 && !state.over; waited += 1) await clock.advance(1000);
  await running;
}

/**
 * Starts the operator with all its rooms; the answer ends it, with everything that it has begun.
 */
function startedOn({ clock, cloud }: Furnished, api: Api, watcher: Watcher, limits: MachineLimits) {
  const adapters = [maintenance('medik8s-leases')];
  const common = {
    api,
    watcher,
    recorder: { record: () => {} },
    meter: noMeter,
    fence: { mayAct: () => true },
    clock,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    adapters,
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
    limits,
    drainLeadSeconds: 1800,
    namespace: 'drydock-system',
    namespaces: namespacesOf('drydock-system', []),
    scanner: { scan: async (source, machines) => cloud.scan(source.name, [...machines.keys()]) },
    signals: () => [],
  });
  const stop = new AbortController();
  const running = Promise.all([operator.run(stop.signal), manager.run(stop.signal)]);
  return async (): Promise<void> => {
    stop.abort();
    await ended(running, clock);
  };
}

export async function machineHarness(options: MachineDrillOptions) {
  const { flavour, limits = { perSet: 1, perZone: 0, nodes: 1 }, between } = options;
  const { group } = machineGroups[flavour];
  const stage = await furnished(options);
  const { clock, cluster, cloud, runtime, writes, make } = stage;
  const { store } = cluster.registry;
  const ports = inProcess(cluster, { userAgent: 'drydock' });
  const maintenanceOf = (machine: string): Stored | undefined =>
    store.get(mm, 'drydock-system', `mm-${machine}`);
  const told = (): string => JSON.stringify(store.list(mm).map(one => one['status']));
  return {
    clock,
    store,
    cloud,
    writes,
    make,
    ports,
    maintenanceOf,
    start: (api: Api = between?.(ports) ?? ports) => startedOn(stage, api, ports, limits),
    machines: (): readonly Stored[] => store.list(`machines.${group}`, 'machines'),
    instanceOf: (machine: Stored): string =>
      text(machine, 'spec', 'providerID').split('/').at(-1) ?? '',
    phaseOf: (machine: string): string => text(maintenanceOf(machine), 'status', 'phase'),
    historyOf: (machine: string): readonly string[] =>
      objects(at(maintenanceOf(machine), 'status', 'history')).map(
        one => `${text(one, 'phase')} ${text(one, 'reason')}`,
      ),
    set: (): Stored | undefined => store.get(`machinesets.${group}`, 'machines', 'workers'),
    /** Until it holds, at most so many seconds of simulated time. */
    until: async (what: string, holds: () => boolean, seconds = 3600): Promise<void> => {
      for (let waited = 0; waited < seconds && !holds(); waited += 1) await clock.advance(1000);
      if (!holds()) throw new Error(`waited ${seconds} s for ${what}: ${told()}`);
    },
    end: (): void => runtime.stop(),
  };
}
