import type { JsonObject } from '@drydock/apimachinery';
import { isObject } from '@drydock/apimachinery';
import { machineAdapter, maintenance } from '@drydock/apis';
import type {
  MachineAdapter,
  MachineEvent,
  MachineLimits,
  SourceObservation,
} from '@drydock/core/machine';
import { windowsPath } from '@drydock/core/window';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { namespacesOf } from '../cache/node-cache.ts';
import type { EventScanner, SignalReader } from '../machines/event-source-reconciler.ts';
import { MachineManager } from '../machines/machine-manager.ts';
import { NodeReconciler } from '../node/node-reconciler.ts';
import { FakeCluster, uidOf } from './fake-cluster.ts';
import { FakeLog, FakeMeter, FakeRecorder, response, settle } from './fakes.ts';
import { lateWatch } from './late-watch.ts';

/**
 * The operator and the room of the machines at work on a small cluster in memory, with a cloud that
 * says what the test wants.
 */

const drydock = '/apis/drydock.dev/v1alpha1';
const openShift = '/apis/machine.openshift.io/v1beta1';
const adapter = maintenance('leases');

export const paths = {
  node: (name: string): string => `/api/v1/nodes/${name}`,
  api: openShift,
  machine: (name: string, namespace = 'machines'): string =>
    `${openShift}/namespaces/${namespace}/machines/${name}`,
  set: (name: string): string => `${openShift}/namespaces/machines/machinesets/${name}`,
  source: (name: string): string => `${drydock}/machineeventsources/${name}`,
  notice: (node: string): string => `${drydock}/nodenotices/${node}`,
  request: (name: string): string =>
    `/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances/${name}`,
  maintenance: (name: string): string => `${adapter.path}/${name}`,
};

function ready(status: string): JsonObject {
  return { conditions: [{ type: 'Ready', status }] };
}

/** What a cluster is furnished with. */
function furnish(cluster: FakeCluster) {
  return {
    machineApi: (): unknown =>
      cluster.put(paths.api, {
        resources: [{ name: 'machines' }, { name: 'machinesets' }],
        metadata: { name: 'v1beta1' },
      }),
    node: (name: string, providerID?: string, status = 'True'): unknown =>
      cluster.put(paths.node(name), {
        metadata: { name },
        spec: { ...(providerID !== undefined && { providerID }) },
        status: ready(status),
      }),
    set: (name: string, replicas: number): unknown =>
      cluster.put(paths.set(name), {
        metadata: { name, namespace: 'machines' },
        spec: { replicas },
      }),
    /** Machine m1 is instance i-m1 and has node n-m1, and belongs to the set. */
    machine: (
      name: string,
      over: {
        readonly set?: string;
        readonly providerID?: string;
        readonly namespace?: string;
      } = {},
    ): unknown =>
      cluster.put(paths.machine(name, over.namespace), {
        apiVersion: 'machine.openshift.io/v1beta1',
        kind: 'Machine',
        metadata: {
          name,
          namespace: over.namespace ?? 'machines',
          ...(over.set !== undefined && {
            ownerReferences: [
              {
                kind: 'MachineSet',
                name: over.set,
                uid: uidOf(paths.set(over.set)),
                controller: true,
              },
            ],
          }),
        },
        spec: { providerID: over.providerID ?? `aws:///a/i-${name}` },
        status: { nodeRef: { name: `n-${name}` } },
      }),
    source: (name: string, spec: JsonObject = { aws: { intervalSeconds: 3600 } }): unknown =>
      cluster.put(paths.source(name), { metadata: { name, generation: 1 }, spec }),
  };
}

export type Furniture = ReturnType<typeof furnish>;

type Cloud = {
  events: readonly MachineEvent[];
  trouble?: SourceObservation['trouble'];
  unknown: readonly string[];
  looks: string[];
  /** Machines that it was not asked about after all. */
  blind?: readonly string[];
  /** What a look at it throws. */
  defect?: Error;
};

export function announced(instance: string, over: Partial<MachineEvent> = {}): MachineEvent {
  return {
    provider: 'aws',
    id: `e-${instance}`,
    kind: 'retirement',
    instance,
    state: 'Scheduled',
    source: 'cloud',
    ...over,
  };
}

/**
 * Machine maintenances get a uid of their own: the Maintenances that drain their nodes are named
 * after it.
 */
function made(cluster: FakeCluster, { method, path, body }: ApiCall): ApiResponse | undefined {
  if (
    method !== 'POST' ||
    !path.endsWith('/machinemaintenances') ||
    !isObject(body) ||
    !isObject(body['metadata'])
  )
    return undefined;
  const { metadata } = body;
  const { name } = metadata as { readonly name: string };
  return response(
    201,
    cluster.put(`${path}/${name}`, {
      ...body,
      metadata: { ...metadata, uid: `${name.replaceAll('-', '')}-uid` },
    }),
  );
}

type BenchOptions = {
  readonly signals?: SignalReader;
  readonly limits?: MachineLimits;
  readonly adapter?: Partial<MachineAdapter>;
  readonly mayAct?: () => boolean;
  /** The watch of the windows tells a second later than all others. */
  readonly windowsLate?: true;
  /** From the first call on. */
  readonly responses?: FakeCluster['intercept'];
};

function scannerOf(cloud: Cloud): EventScanner {
  return {
    scan: (source, machines) => {
      cloud.looks.push(`${source.name}: ${[...machines.keys()].join()}`);
      const { events, trouble, unknown, blind = [], defect } = cloud;
      if (defect !== undefined) return Promise.reject(defect);
      const looked = new Set([...machines.keys()].filter(instance => !blind.includes(instance)));
      return Promise.resolve({
        source: source.name,
        looked,
        events,
        unknown,
        ...(trouble && { trouble }),
      });
    },
  };
}

type BenchParts = {
  readonly cluster: FakeCluster;
  readonly clock: VirtualClock;
  readonly recorder: FakeRecorder;
  readonly log: FakeLog;
};

function roomsOf(
  { cluster, clock, recorder, log }: BenchParts,
  cloud: Cloud,
  { signals, limits, adapter: more, mayAct = () => true, windowsLate }: BenchOptions,
) {
  const ports = {
    api: cluster,
    watcher: cluster,
    recorder,
    meter: new FakeMeter(),
    fence: { mayAct },
    clock,
    log,
    defects: new PanicHandler({ log }),
  };
  const common = { ...ports, adapters: [adapter] };
  const terms = { durationSeconds: 1e8, renewEverySeconds: 1e7 };
  const watcher = windowsLate ? lateWatch(cluster, clock, windowsPath) : cluster;
  const operator = new NodeReconciler({
    ...common,
    watcher,
    readWindow: machineAdapter.readWindow,
    terms,
  });
  const manager = new MachineManager({
    ...common,
    cache: operator.cache,
    adapter: { ...machineAdapter, ...more },
    limits: limits ?? { perSet: 1, perZone: 0, nodes: 1 },
    drainLeadSeconds: 1800,
    namespace: 'drydock-system',
    namespaces: namespacesOf('drydock-system', []),
    scanner: scannerOf(cloud),
    signals: signals ?? (() => []),
  });
  return { operator, manager };
}

/** Time, and the end. */
function handsOf(clock: VirtualClock, run: (signal: AbortSignal) => Promise<unknown>) {
  const stop = new AbortController();
  const outcome = { ended: false };
  void run(stop.signal).then(() => (outcome.ended = true));
  /** Until nothing happens any more. */
  const calm = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn += 1) await settle();
  };
  const wait = async (seconds: number): Promise<void> => {
    await calm();
    await clock.advance(seconds * 1000);
    await calm();
  };
  const end = async (): Promise<void> => {
    stop.abort();
    for (let turn = 0; turn < 200 && !outcome.ended; turn += 1) await clock.advance(1000);
    if (!outcome.ended) throw new Error('it has not come to its end');
  };
  return { calm, wait, end };
}

export function machineBench(
  fill: (furniture: Furniture, cluster: FakeCluster) => void,
  options: BenchOptions = {},
) {
  const props = {
    cluster: new FakeCluster(),
    clock: new VirtualClock(),
    recorder: new FakeRecorder(),
    log: new FakeLog(),
  };
  const { cluster } = props;
  const furniture = furnish(cluster);
  fill(furniture, cluster);
  /** What the test makes the API server answer, in place of what the cluster would. */
  const server: { responses: FakeCluster['intercept'] } = {
    responses: options.responses ?? (() => undefined),
  };
  cluster.intercept = call => server.responses(call) ?? made(cluster, call);
  const cloud: Cloud = { events: [], unknown: [], looks: [] };
  const { operator, manager } = roomsOf(props, cloud, options);
  const hands = handsOf(props.clock, signal =>
    Promise.all([operator.run(signal), manager.run(signal)]),
  );
  const part = (path: string, name: 'spec' | 'status'): JsonObject => {
    const found = cluster.get(path)?.[name];
    return isObject(found) ? found : {};
  };
  return { ...props, ...hands, server, cloud, manager, furniture, part };
}
