import type { JsonObject } from '../../core/json.ts';
import type { KindAdapter } from '../../core/request/request.ts';
import { createCluster, type EmbeddedCluster } from '../../embedded/cluster.ts';
import { ClusterRuntime } from '../../embedded/cluster-runtime.ts';
import { otherClients, type RequestLimits, RequestQueue } from '../../embedded/controllers/request-limits.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { inProcess } from '../../embedded/in-process.ts';
import { kubeVirtDefinitions, kubeVirtObjects } from '../../embedded/kubevirt/definitions.ts';
import { SimulatedKubeVirt } from '../../embedded/kubevirt/simulated.ts';
import { load } from '../../embedded/load.ts';
import { text } from '../../embedded/object.ts';
import { seeded } from '../../embedded/seeded.ts';
import type { Api, ApiCall, Watcher } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import type { UnhealthyPods } from '../prepare/prepare.ts';
import { makeRevisions } from '../prepare/revisions.ts';
import type { PodTimings } from '../timings/learn.ts';

/** The operator as it acts in a cluster: everything that it needs from outside comes from here. */
type OperatorSeat = {
  readonly ports: Api & Watcher;
  readonly clock: Clock;
  readonly own?: { readonly pod: string; readonly node: string };
};

/** What is rehearsed with, the same for every run. */
export type SandboxOptions = {
  /** Prepared. */
  readonly objects: readonly JsonObject[];
  readonly takenAt: Temporal.Instant;
  readonly sick: UnhealthyPods;
  readonly learned: PodTimings;
  /** How fast the control plane is. */
  readonly limits: RequestLimits;
  /** CustomResourceDefinitions of the served kinds. */
  readonly definitions: readonly JsonObject[];
  readonly adapters: readonly KindAdapter[];
  /** Makes the operator, which runs until the signal is aborted. */
  readonly operate: (seat: OperatorSeat, signal: AbortSignal) => Promise<void>;
};

/** A copy of the cluster that lives in simulated time, with nobody draining anything yet. */
export type Sandbox = {
  readonly cluster: EmbeddedCluster;
  readonly clock: VirtualClock;
  readonly ports: Api & Watcher;
  end(): void;
};

/** Away from the small numbers with which embedded clusters are made that are copied: uids must not come twice. */
const firstSeed = 0x7e5eed;

/** How long an API server takes, both ways together, in milliseconds: an eviction lists budgets first. */
const evictionMs = 60;
const callMs = 6;

const isEviction = ({ path, method }: ApiCall): boolean => method === 'POST' && path.endsWith('/eviction');

const halfOf = (call: ApiCall): number => (isEviction(call) ? evictionMs : callMs) / 2;

/**
 * An eviction lists budgets, writes the budget, the pod's condition and its deletion (pkg/registry/core/pod/storage/eviction.go): on an API server with nothing else
 * to do it took 26 ms, and other writes 3 ms. ReplicaSet and Deployment write their status seven times for a pod that is moved, and twice where many are created at
 * once, as audit logs say: the simulated controllers do so less often, hence the other six.
 */
const writesOfEviction = 14;

/** A write waits for those that came before it. */
const waitFor = (call: ApiCall, requests: RequestQueue): number =>
  call.method === 'GET' ? 0 : requests.write(otherClients, isEviction(call) ? writesOfEviction : 1);

/** No heartbeats: the copy says which nodes are well, and that stays so. */
const never = Number.POSITIVE_INFINITY;
const steadyNodes = { renewMs: never, graceMs: never, startupMs: never, periodMs: never };

/** Where node leases are made, and the pods of plans. */
const ownNamespaces = ['medik8s-leases', 'node-maintenance', 'drydock-plans'];

const hasVms = (objects: readonly JsonObject[]): boolean => objects.some(one => one['kind'] === 'VirtualMachineInstance');

const furnish = ({ registry }: EmbeddedCluster, { objects, definitions }: SandboxOptions): readonly string[] => {
  const writes = writesOn(registry);
  const vms = hasVms(objects);
  for (const definition of [...definitions, ...(vms ? kubeVirtDefinitions : [])])
    writes.create('customresourcedefinitions.apiextensions.k8s.io', definition);
  for (const name of ownNamespaces) writes.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  const webhooks = vms ? kubeVirtObjects().filter(one => one['kind'] === 'ValidatingWebhookConfiguration') : [];
  const isKubeVirts = (one: JsonObject): boolean =>
    text(one, 'apiVersion').startsWith('kubevirt.io/v1') && one['kind'] !== 'NodeMaintenance';
  const served = objects.filter(one => vms || !isKubeVirts(one));
  const unloaded = load(registry, [...served, ...webhooks]);
  makeRevisions(registry);
  return unloaded.map(({ what, why }) => `${what}: ${why}`);
};

/** Sets the stage for one run. `unloaded` is told what could not be taken over. */
export const setSandbox = (sandboxOptions: SandboxOptions, seed: number, unloaded: (what: string) => void): Sandbox => {
  const { takenAt, sick, learned } = sandboxOptions;
  const clock = new VirtualClock(takenAt);
  const vms = hasVms(sandboxOptions.objects) ? new SimulatedKubeVirt() : undefined;
  const cluster = createCluster({ clock, random: seeded(seed + firstSeed), extensions: vms === undefined ? [] : [vms.extension()] });
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
        startMs: sick.neverReady.has(pod.metadata.uid) || sick.neverStarts?.(pod) === true ? never : learned.startMs(pod, seed),
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
};
