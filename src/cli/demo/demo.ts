import { parse } from 'yaml';
import type { JsonObject } from '../../core/json.ts';
import type { Dialect } from '../../core/request/request.ts';
import { createCluster, type EmbeddedCluster } from '../../embedded/cluster.ts';
import { isReady, nodeOf } from '../../embedded/controllers/pods.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { inProcess } from '../../embedded/in-process.ts';
import { Life } from '../../embedded/life.ts';
import type { Resource } from '../../embedded/store/store.ts';
import { served } from '../../generations/served.ts';
import { EventRecorder } from '../../kube/events.ts';
import { Operator } from '../../operator/operator.ts';
import type { Api, Watcher } from '../../operator/ports.ts';
import { systemClock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import { crdTexts, usualGroups } from '../crds.ts';
import { leaseNamespaces } from '../kinds.ts';
import { town } from './town.ts';

/** How long pods take here: long enough to be seen. */
const pace = { startMs: 2000, stopMs: 3000, spread: 0.4 };

/** Events that are still on their way at the end get this long. */
const flushMs = 500;

/** A cluster in this process with everything that lives in one, and Drydock's operator at work in it. */
export type Demo = {
  readonly cluster: EmbeddedCluster;
  /** As the operator reaches it. */
  readonly ports: Api & Watcher;
  readonly dialects: readonly Dialect[];
  stop(): Promise<void>;
};

export type DemoOptions = {
  /** Neither workloads nor Drydock: a cluster for somebody's own tests. */
  readonly empty?: boolean;
  /** Puts a node into maintenance by itself, once every pod is up. */
  readonly begins?: boolean;
  readonly log: Log;
};

const make = (cluster: EmbeddedCluster, resource: Resource, object: JsonObject): void => {
  const written = writesOn(cluster.machine).create(resource, object);
  if (written.kind === 'refused') throw new Error(`the demo cannot have ${JSON.stringify(object['metadata'])}: ${written.message}`);
};

const settle = (cluster: EmbeddedCluster): void => {
  for (const text of crdTexts(usualGroups)) make(cluster, 'customresourcedefinitions.apiextensions.k8s.io', parse(text) as JsonObject);
  for (const [resource, object] of town) make(cluster, resource, object);
};

/** Starts one. Nothing of it is outside this process. */
export const startDemo = ({ empty = false, begins = false, log }: DemoOptions): Demo => {
  const cluster = createCluster({ clock: systemClock, random: Math.random });
  const life = new Life({ machine: cluster.machine, clock: systemClock, pace, record: 'events' });
  life.start();
  const ports = inProcess(cluster, { userAgent: 'drydock' });
  const dialects = served(leaseNamespaces({}));
  if (empty) return { cluster, ports, dialects, stop: async () => life.stop() };
  settle(cluster);
  const end = startOperator(ports, dialects, log);
  const begin = (): void => make(cluster, 'maintenances.drydock.dev', firstMaintenance(cluster));
  const forget = begins ? whenSettled(cluster, begin) : (): void => {};
  const stop = async (): Promise<void> => {
    forget();
    await end();
    life.stop();
  };
  return { cluster, ports, dialects, stop };
};

/** The operator as in any cluster, on ports of this process. The answer ends it. */
const startOperator = (ports: Api & Watcher, dialects: readonly Dialect[], log: Log): (() => Promise<void>) => {
  const recorder = new EventRecorder({ api: ports, clock: systemClock, log, random: Math.random, instance: 'demo' });
  const operator = new Operator({
    api: ports,
    watcher: ports,
    recorder,
    meter: { evicted: () => {}, wrote: () => {}, decided: () => {} },
    fence: { mayAct: () => true },
    clock: systemClock,
    log,
    dialects,
    terms: { durationSeconds: 3600, renewEverySeconds: 900 },
  });
  const done = new AbortController();
  const running = operator.run(done.signal);
  return async () => {
    done.abort();
    await running;
    await recorder.drain(flushMs);
  };
};

/** Runs the task once, when every pod of the town is up. The answer calls it off. */
const whenSettled = ({ machine: { store } }: EmbeddedCluster, task: () => void): (() => void) => {
  const unsubscribe = store.subscribe(() => {
    const pods = store.list('pods');
    if (pods.length < town.length || !pods.every(isReady)) return;
    unsubscribe();
    task();
  }, 'pods');
  return unsubscribe;
};

/** Of the node that has the most to say: one with a pod that may never go. */
const firstMaintenance = ({ machine: { store } }: EmbeddedCluster): JsonObject => {
  const stuck = store.list('pods', 'shop').find(({ metadata }) => metadata.labels?.['app'] === 'payment');
  const nodeName = stuck === undefined ? 'worker-1' : nodeOf(stuck);
  return {
    metadata: { name: nodeName },
    spec: { nodeName, reason: 'a new disk', requester: 'the demo', drain: { force: true, deleteEmptyDirData: true } },
  };
};
