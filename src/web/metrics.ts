import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Meter, Overview } from '../operator/ports.ts';

const fast = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A finished call to the API server. */
export type ApiCallSeen = { readonly method: string; readonly path: string; readonly status: number; readonly seconds: number };

export type Metrics = {
  readonly meter: Meter;
  readonly apiCall: (seen: ApiCallSeen) => void;
  /** The text that Prometheus reads, and its content type. */
  readonly text: () => Promise<string>;
  readonly contentType: string;
};

/** Gauges are read when somebody asks, from what is known then. */
const gauges = (registers: Registry[], overview: () => Overview, leading: () => boolean): void => {
  const gauge = (name: string, help: string, labelNames: string[], collect: (gauge: Gauge) => void): Gauge =>
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        collect(this);
      },
    });
  gauge('drydock_maintenances', 'Maintenance objects, by kind and state.', ['kind', 'state'], own => {
    for (const { kind, state, count } of overview().maintenances) own.set({ kind, state }, count);
  });
  gauge('drydock_held_nodes', 'Nodes that carry a hold.', [], own => own.set(overview().heldNodes));
  gauge('drydock_blockers', 'What keeps drains from being complete at the moment, by cause.', ['cause'], own => {
    for (const { cause, count } of overview().blockers) own.set({ cause }, count);
  });
  gauge('drydock_evictions_under_way', 'Evictions that have been asked for and are not settled.', [], own =>
    own.set(overview().evictionsUnderWay),
  );
  gauge('drydock_queue_depth', 'Nodes that wait to be looked at.', [], own => own.set(overview().queueDepth));
  gauge('drydock_unsynced_collections', 'Collections of the API that have not been read yet.', [], own =>
    own.set(overview().unsynced.length),
  );
  gauge('drydock_leader', '1 when this replica acts.', [], own => own.set(leading() ? 1 : 0));
};

/** All metrics of the operator, in a registry of their own. */
export const metrics = (overview: () => Overview, leading: () => boolean): Metrics => {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  gauges(registers, overview, leading);
  const evictions = new Counter({
    name: 'drydock_evictions_total',
    help: 'Answered evictions and deletions of pods.',
    labelNames: ['method', 'outcome'],
    registers,
  });
  const evictionSeconds = new Histogram({
    name: 'drydock_eviction_duration_seconds',
    help: 'Time until an eviction was answered.',
    labelNames: ['method'],
    buckets: fast,
    registers,
  });
  const writes = new Counter({
    name: 'drydock_writes_total',
    help: 'Writes to nodes, leases and maintenance objects.',
    labelNames: ['store', 'result'],
    registers,
  });
  const decisions = new Histogram({
    name: 'drydock_decision_duration_seconds',
    help: 'Time to decide on one node.',
    buckets: [0.0001, 0.00025, 0.0005, ...fast],
    registers,
  });
  const calls = new Histogram({
    name: 'drydock_api_request_duration_seconds',
    help: 'Calls to the API server.',
    labelNames: ['method', 'path', 'status'],
    buckets: fast,
    registers,
  });
  return {
    meter: {
      evicted: (method, outcome, seconds) => {
        evictions.inc({ method, outcome });
        evictionSeconds.observe({ method }, seconds);
      },
      wrote: (store, result) => writes.inc({ store, result }),
      decided: seconds => decisions.observe(seconds),
    },
    apiCall: ({ method, path, status, seconds }) => calls.observe({ method, path, status: String(status) }, seconds),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
};
