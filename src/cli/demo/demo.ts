import { parse } from 'yaml';
import type { JsonObject } from '../../core/json.ts';
import type { Dialect } from '../../core/request/request.ts';
import { createCluster, type EmbeddedCluster } from '../../embedded/cluster.ts';
import { writesOn } from '../../embedded/controllers/writes.ts';
import { inProcess } from '../../embedded/in-process.ts';
import { Life } from '../../embedded/life.ts';
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

const settle = (cluster: EmbeddedCluster): void => {
  const writes = writesOn(cluster.machine);
  const crds = crdTexts(usualGroups).map(text => ['customresourcedefinitions.apiextensions.k8s.io', parse(text) as JsonObject] as const);
  for (const [resource, object] of [...crds, ...town]) {
    const written = writes.create(resource, object);
    if (written.kind === 'refused') throw new Error(`the demo cannot have ${JSON.stringify(object['metadata'])}: ${written.message}`);
  }
};

/** Starts one. Nothing of it is outside this process. */
export const startDemo = (log: Log): Demo => {
  const cluster = createCluster({ clock: systemClock, random: Math.random });
  const life = new Life({ machine: cluster.machine, clock: systemClock, pace });
  life.start();
  settle(cluster);
  const ports = inProcess(cluster, { userAgent: 'drydock' });
  const recorder = new EventRecorder({ api: ports, clock: systemClock, log, random: Math.random, instance: 'demo' });
  const dialects = served(leaseNamespaces({}));
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
  const stop = async (): Promise<void> => {
    done.abort();
    await running;
    await recorder.drain(flushMs);
    life.stop();
  };
  return { cluster, ports, dialects, stop };
};
