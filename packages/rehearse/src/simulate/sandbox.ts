import type { JsonObject } from '@drydock/apimachinery';
import type { KindAdapter } from '@drydock/core/request';
import type { Api, ApiCall, Watcher } from '@drydock/kube-client';
import {
  ClusterRuntime,
  createCluster,
  type EmbeddedCluster,
  inProcess,
  load,
  seeded,
  text,
} from '@drydock/kube-sim';
import {
  otherClients,
  type RequestLimits,
  RequestQueue,
  writesOn,
} from '@drydock/kube-sim/controllers';
import {
  kubeVirtDefinitions,
  kubeVirtObjects,
  SimulatedKubeVirt,
} from '@drydock/kube-sim/kubevirt';
import type { Clock } from '@drydock/utils';
import { VirtualClock } from '@drydock/utils';
import type { UnhealthyPods } from '../prepare/prepare.ts';
import { makeRevisions } from '../prepare/revisions.ts';
import type { PodTimings } from '../timings/learn.ts';

/** Environment of the operator: the source of all its external dependencies. */
type OperatorSeat = {
  readonly ports: Api & Watcher;
  readonly clock: Clock;
  readonly own?: { readonly pod: string; readonly node: string };
};

/** Options of the sandbox, the same for every run. */
export type SandboxOptions = {
  /** Prepared objects. */
  readonly objects: readonly JsonObject[];
  readonly snapshotTime: Temporal.Instant;
  readonly sick: UnhealthyPods;
  readonly learned: PodTimings;
  /** Speed of the control plane. */
  readonly limits: RequestLimits;
  /** CustomResourceDefinitions of the served kinds. */
  readonly definitions: readonly JsonObject[];
  readonly adapters: readonly KindAdapter[];
  /** Runs the operator until the signal is aborted. */
  readonly operate: (seat: OperatorSeat, signal: AbortSignal) => Promise<void>;
};

/** A copy of the cluster in simulated time, before any drain. */
export type Sandbox = {
  readonly cluster: EmbeddedCluster;
  readonly clock: VirtualClock;
  readonly ports: Api & Watcher;
  end(): void;
};

/**
 * First seed of random UIDs: far from the small seeds of embedded clusters that may have been
 * copied, because UIDs must not repeat.
 */
const firstSeed = 0x7e5eed;

/** Latency of an API server's responses, in milliseconds: an eviction lists budgets first. */
const evictionMs = 60;
const callMs = 6;

function isEviction({ path, method }: ApiCall): boolean {
  return method === 'POST' && path.endsWith('/eviction');
}

function halfOf(call: ApiCall): number {
  return (isEviction(call) ? evictionMs : callMs) / 2;
}

/**
 * Cost of an eviction in writes: it lists budgets, writes the budget, the pod's condition and its
 * deletion (pkg/registry/core/pod/storage/eviction.go): on an idle API server it took 26 ms, and
 * other writes 3 ms. ReplicaSet and Deployment write their status seven times for a pod that is
 * moved, and twice where many are created at once, according to audit logs: the simulated
 * controllers do so less often, hence the other six.
 */
const writesOfEviction = 14;

/** Returns the wait of a call: a write waits for earlier ones. */
function waitFor(call: ApiCall, requests: RequestQueue): number {
  return call.method === 'GET'
    ? 0
    : requests.write(otherClients, isEviction(call) ? writesOfEviction : 1);
}

/** No heartbeats: the copy shows which nodes are healthy, and they stay so. */
const never = Number.POSITIVE_INFINITY;
const steadyNodes = { renewMs: never, graceMs: never, startupMs: never, periodMs: never };

/** Namespaces of node leases, and of the pods of plans. */
const ownNamespaces = ['medik8s-leases', 'node-maintenance', 'drydock-plans'];

function hasVms(objects: readonly JsonObject[]): boolean {
  return objects.some(one => one['kind'] === 'VirtualMachineInstance');
}

function furnish(
  { registry }: EmbeddedCluster,
  { objects, definitions }: SandboxOptions,
): readonly string[] {
  const writes = writesOn(registry);
  const vms = hasVms(objects);
  for (const definition of [...definitions, ...(vms ? kubeVirtDefinitions : [])])
    writes.create('customresourcedefinitions.apiextensions.k8s.io', definition);
  for (const name of ownNamespaces)
    writes.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const webhooks = vms
    ? kubeVirtObjects().filter(one => one['kind'] === 'ValidatingWebhookConfiguration')
    : [];
  const isKubeVirts = (one: JsonObject): boolean =>
    text(one, 'apiVersion').startsWith('kubevirt.io/v1') && one['kind'] !== 'NodeMaintenance';
  const served = objects.filter(one => vms || !isKubeVirts(one));
  const unloaded = load(registry, [...served, ...webhooks]);
  makeRevisions(registry);
  return unloaded.map(({ what, why }) => `${what}: ${why}`);
}

/** Creates the sandbox for one run. Calls `unloaded` with objects that could not be loaded. */
export function setSandbox(
  sandboxOptions: SandboxOptions,
  seed: number,
  unloaded: (what: string) => void,
): Sandbox {
  const { snapshotTime, sick, learned } = sandboxOptions;
  const clock = new VirtualClock(snapshotTime);
  const vms = hasVms(sandboxOptions.objects) ? new SimulatedKubeVirt() : undefined;
  const cluster = createCluster({
    clock,
    random: seeded(seed + firstSeed),
    extensions: vms === undefined ? [] : [vms.extension()],
  });
  for (const what of furnish(cluster, sandboxOptions)) unloaded(what);
  const requests = new RequestQueue(sandboxOptions.limits, clock);
  const runtime = new ClusterRuntime({
    registry: cluster.registry,
    clock,
    pace: {
      startMs: 0,
      stopMs: 0,
      spread: 0,
      saysEnd: 'held',
      of: pod => ({
        startMs:
          sick.neverReady.has(pod.metadata.uid) || sick.neverStarts?.(pod) === true
            ? never
            : learned.startMs(pod, seed),
        stopMs: sick.neverGone.has(pod.metadata.uid) ? never : learned.stopMs(pod, seed),
      }),
    },
    nodeHealth: steadyNodes,
    requests,
    ...(vms && { more: vms.controllers() }),
  });
  runtime.start();
  const ports = inProcess(cluster, {
    userAgent: 'drydock',
    delays: { request: call => halfOf(call) + waitFor(call, requests), response: halfOf },
  });
  return { cluster, clock, ports, end: () => runtime.stop() };
}
