import { readFileSync } from 'node:fs';
import type { JsonObject } from '@drydock/apimachinery';
import { maintenance, medik8s } from '@drydock/apis';
import type { KindAdapter } from '@drydock/core/request';
import type { Api, Watcher } from '@drydock/kube-client';
import { EventRecorder } from '@drydock/kube-client';
import {
  ClusterRuntime,
  createCluster,
  type EmbeddedCluster,
  inProcess,
  seeded,
} from '@drydock/kube-sim';
import { writesOn } from '@drydock/kube-sim/controllers';
import { noMeter } from '@drydock/operator';
import { NodeReconciler } from '@drydock/operator/node';
import type { Clock } from '@drydock/utils';
import { PanicHandler, silentLog } from '@drydock/utils';
import { parse } from 'yaml';

/**
 * A small cluster for the tests of the dashboard: three workers in two zones, with what a test puts
 * on them.
 */

function crdFile(name: string): JsonObject {
  return parse(
    readFileSync(new URL(`../../../../deploy/crds/${name}.yaml`, import.meta.url), 'utf8'),
  ) as JsonObject;
}

const crds = {
  maintenance: 'maintenances.drydock.dev',
  nodeMaintenance: 'nodemaintenances.nodemaintenance.medik8s.io',
  machineMaintenance: 'machinemaintenances.machinemaintenance.managed.openshift.io',
  window: 'maintenancewindows.drydock.dev',
  plan: 'maintenanceplans.drydock.dev',
  planApproval: 'maintenanceapprovals.drydock.dev',
} as const;

const ready = {
  type: 'Ready',
  status: 'True',
  reason: 'KubeletReady',
  message: '',
  lastHeartbeatTime: null,
  lastTransitionTime: null,
};

export type DashboardHarness = {
  readonly cluster: EmbeddedCluster;
  readonly ports: Api & Watcher;
  readonly adapters: readonly KindAdapter[];
  /** Throws when the cluster refuses it. */
  make(resource: string, draft: JsonObject): void;
  /** Starts the operator. */
  operate(): void;
  stop(): Promise<void>;
};

const workers = [
  ['w1', 'north'],
  ['w2', 'north'],
  ['w3', 'south'],
] as const;

function worker(name: string, zone: string): JsonObject {
  return {
    metadata: {
      name,
      labels: { 'kubernetes.io/hostname': name, 'topology.kubernetes.io/zone': zone },
    },
    status: { allocatable: { cpu: '64', memory: '256Gi', pods: '110' }, conditions: [ready] },
  };
}

/** A Deployment of `replicas` pods in `shop`, with the budget that is given. */
export function deployment(name: string, replicas: number, pod: JsonObject = {}): JsonObject {
  return {
    kind: 'Deployment',
    metadata: { name, namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image: 'example.test/none:1' }], ...pod },
      },
    },
  };
}

export function budget(name: string, spec: JsonObject): JsonObject {
  return {
    metadata: { name, namespace: 'shop' },
    spec: { ...spec, selector: { matchLabels: { app: name } } },
  };
}

/** Makes one whose clock is given; pods take two seconds to start and three to end. */
export function place(
  clock: Clock,
  kinds: readonly (keyof typeof crds)[] = ['maintenance', 'nodeMaintenance'],
): DashboardHarness {
  const cluster = createCluster({ clock, random: seeded(7) });
  const writes = writesOn(cluster.registry);
  const make = (resource: string, draft: JsonObject): void => {
    const written = writes.create(resource, draft);
    if (written.kind === 'refused') throw new Error(written.message);
  };
  for (const kind of kinds)
    make('customresourcedefinitions.apiextensions.k8s.io', crdFile(crds[kind]));
  make('namespaces', { metadata: { name: 'shop' } });
  const life = new ClusterRuntime({
    registry: cluster.registry,
    clock,
    pace: { startMs: 2000, stopMs: 3000, spread: 0 },
  });
  life.start();
  for (const [name, zone] of workers) make('nodes', worker(name, zone));
  const ports = inProcess(cluster, { userAgent: 'drydock' });
  const adapters = [maintenance('medik8s-leases'), medik8s('medik8s-leases')];
  const done = new AbortController();
  let running: Promise<void> | undefined;
  const operate = (): void => {
    running = new NodeReconciler({
      api: ports,
      watcher: ports,
      recorder: new EventRecorder({
        api: ports,
        clock,
        log: silentLog,
        random: seeded(8),
        instance: 'test',
      }),
      meter: noMeter,
      fence: { mayAct: () => true },
      clock,
      log: silentLog,
      defects: new PanicHandler({ log: silentLog }),
      adapters,
      terms: { durationSeconds: 3600, renewEverySeconds: 900 },
    }).run(done.signal);
  };
  const stop = async (): Promise<void> => {
    done.abort();
    await running;
    life.stop();
  };
  return { cluster, ports, adapters, make, operate, stop };
}
