import { readFileSync } from 'node:fs';
import type { JsonObject } from '@drydock/apimachinery';
import { createCluster, type EmbeddedCluster, load } from '@drydock/kube-sim';
import { systemClock } from '@drydock/utils';
import { parse } from 'yaml';

/**
 * A large cluster of made-up objects, whose pods become ready and unready, and whose nodes are
 * cordoned and uncordoned.
 */

const time = '2026-01-01T00:00:00Z';
const replicas = 50;
/** Of nodes: how many apart those are that a Maintenance holds. */
const heldEvery = 79;

function meta(name: string, namespace?: string): JsonObject {
  return {
    name,
    uid: `uid-${namespace ?? ''}-${name}`,
    creationTimestamp: time,
    ...(namespace !== undefined && { namespace }),
  };
}

function node(index: number, isCordoned: boolean): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      ...meta(`node-${index}`),
      labels: {
        'topology.kubernetes.io/zone': `zone-${index % 5}`,
        'karpenter.sh/nodepool': `pool-${index % 8}`,
      },
    },
    spec: { ...(isCordoned && { unschedulable: true }) },
    status: { conditions: [{ type: 'Ready', status: index % 400 === 7 ? 'False' : 'True' }] },
  };
}

/** The pods of one Deployment are on as many nodes. */
function appNumberOf(index: number): number {
  return Math.floor(index / replicas);
}
function appOf(index: number): string {
  return `app-${appNumberOf(index)}`;
}
function spaceOf(app: number): string {
  return `space-${app % 40}`;
}

function pod(index: number, nodes: number, isReady: boolean): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...meta(`${appOf(index)}-5d8f6-${index}`, spaceOf(appNumberOf(index))),
      labels: { app: appOf(index), 'pod-template-hash': '5d8f6' },
      ownerReferences: [
        {
          apiVersion: 'apps/v1',
          kind: 'ReplicaSet',
          name: `${appOf(index)}-5d8f6`,
          uid: `uid-${appOf(index)}`,
          controller: true,
        },
      ],
    },
    spec: {
      nodeName: `node-${index % nodes}`,
      containers: [{ name: 'main', image: 'example.test/app:1' }],
    },
    status: {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
    },
  };
}

/** Of five, one never allows an eviction. */
function budget(index: number): JsonObject {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { ...meta(`app-${index}`, spaceOf(index)), generation: 1 },
    spec: { selector: { matchLabels: { app: `app-${index}` } }, minAvailable: replicas },
    status: {
      observedGeneration: 1,
      currentHealthy: replicas,
      desiredHealthy: index % 5 === 0 ? replicas : replicas - 1,
      expectedPods: replicas,
      disruptionsAllowed: index % 5 === 0 ? 0 : 1,
    },
  };
}

const phases = ['Draining', 'Drained', 'Failed', 'Pending'];

function maintenance(index: number): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'Maintenance',
    metadata: {
      ...meta(`kernel-node-${index * heldEvery}`),
      annotations: { 'drydock.dev/maintenance-plan': 'kernel' },
    },
    spec: { nodeName: `node-${index * heldEvery}`, reason: 'kernel 6.18' },
    status: {
      phase: phases[index % phases.length] ?? '',
      startTime: time,
      pods: { toEvict: 20, gone: 5 },
    },
  };
}

/** So many minutes from now. */
function hence(minutes: number): string {
  return new Date(Date.now() + 60_000 * minutes).toISOString();
}

function plan(): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MaintenancePlan',
    metadata: { ...meta('kernel'), generation: 1 },
    spec: {
      nodeSelector: { matchLabels: { 'karpenter.sh/nodepool': 'pool-0' } },
      work: { none: {} },
      pace: { deadline: hence(240) },
    },
    status: {
      phase: 'Running',
      observedGeneration: 1,
      run: { id: '1', revision: 'r1', startTime: hence(-20) },
      stages: [{ name: 'all', phase: 'Running', selected: 625, done: 60 }],
      forecast: {
        runID: '1',
        specHash: 'abc',
        snapshotTime: hence(-5),
        rehearsalTime: hence(-4),
        finishes: true,
        estimatedCompletionTime: hence(180),
        latestCompletionTime: hence(210),
        firstEstimatedCompletionTime: hence(160),
        nodes: 565,
        windows: 1,
        podsMoved: 11_300,
        podsMovedAgain: 40,
        blockedNodes: 1,
        blocked: [{ node: 'node-8', message: 'budget space-0/app-0 allows no eviction' }],
        lowest: [{ workload: 'space-0/app-40', ready: 45, replicas: 50 }],
      },
      nodes: {
        selected: 625,
        due: 500,
        blocked: 2,
        inFlight: 60,
        done: 60,
        failed: 3,
        skipped: 0,
        unavailable: 60,
        progress: '60/625',
      },
    },
  };
}

function* everything(nodes: number, pods: number): Generator<JsonObject> {
  for (let index = 0; index < nodes; index += 1) yield node(index, index % 300 === 3);
  for (let index = 0; index < pods; index += 1) yield pod(index, nodes, true);
  for (let index = 0; index < pods / replicas; index += 4) yield budget(index);
  for (let index = 0; index < nodes / heldEvery; index += 1) yield maintenance(index);
  yield plan();
}

function crd(name: string): JsonObject {
  return parse(
    readFileSync(new URL(`../../deploy/crds/${name}.drydock.dev.yaml`, import.meta.url), 'utf8'),
  ) as JsonObject;
}

export type Fleet = {
  readonly cluster: EmbeddedCluster;
  /** The first pod of a node becomes ready, or unready. */
  setReady(node: number, isReady: boolean): void;
  setCordoned(node: number, isCordoned: boolean): void;
  /** From now on so many pods change each second, and nodes. The answer ends that. */
  change(podsEachSecond: number, nodesEachSecond: number): () => void;
};

const beatsEachSecond = 20;

/** Makes one of that size. */
export function makeFleet(nodes: number, pods: number): Fleet {
  const cluster = createCluster({ clock: systemClock, random: Math.random });
  load(cluster.registry, [crd('maintenances'), crd('maintenanceplans')]);
  load(cluster.registry, everything(nodes, pods));
  const setReady = (index: number, isReady: boolean): void =>
    void load(cluster.registry, [pod(index, nodes, isReady)]);
  const setCordoned = (index: number, isCordoned: boolean): void =>
    void load(cluster.registry, [node(index, isCordoned)]);
  const change: Fleet['change'] = (podsEachSecond, nodesEachSecond) => {
    const owed = { pods: 0, nodes: 0, at: 0 };
    const beat = (): void => {
      owed.pods += podsEachSecond / beatsEachSecond;
      owed.nodes += nodesEachSecond / beatsEachSecond;
      // A large prime: what changes is spread over the whole cluster.
      for (; owed.pods >= 1; owed.pods -= 1, owed.at += 1)
        setReady((owed.at * 7919) % pods, owed.at % 3 !== 0);
      for (; owed.nodes >= 1; owed.nodes -= 1, owed.at += 1)
        setCordoned((owed.at * 7919) % nodes, owed.at % 2 === 0);
    };
    const timer = setInterval(beat, 1000 / beatsEachSecond);
    return () => clearInterval(timer);
  };
  return { cluster, setReady, setCordoned, change };
}
