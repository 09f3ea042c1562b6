import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from '@prometheus-io/client';
import type { Meter, Overview } from '../ports.ts';

/** Counter of requests to OpenStack's Nova. */
type NovaMeter = { asked(call: string, outcome: string): void };

/** Counter of the queries that gates of plans send to Prometheus and Alertmanager. */
type MonitoringMeter = { queried(kind: string, result: string): void };
type NotificationMeter = { notified(receiver: string, result: string): void };

const fast = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** A finished call to the API server. */
type ApiCallSeen = {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly seconds: number;
};

export type Metrics = {
  readonly meter: Meter;
  readonly novaMeter: NovaMeter;
  readonly monitoringMeter: MonitoringMeter;
  readonly notificationMeter: NotificationMeter;
  readonly apiCall: (seen: ApiCallSeen) => void;
  /** Returns the text that Prometheus scrapes; `type` is its content type. */
  readonly text: () => Promise<string>;
  readonly contentType: string;
};

type AddGauge = <L extends string>(
  name: string,
  help: string,
  labelNames: L[],
  collect: (gauge: Gauge<L>) => void,
) => Gauge<L>;

function planGauges(gauge: AddGauge, overview: () => Overview): void {
  gauge(
    'drydock_plan_phase',
    '1 for the phase of each MaintenancePlan.',
    ['plan', 'phase'],
    own => {
      for (const { plan, phase } of overview().planPhases) own.set({ plan, phase }, 1);
    },
  );
  gauge(
    'drydock_plan_nodes',
    'Nodes of MaintenancePlans, by how far they are.',
    ['plan', 'state'],
    own => {
      for (const { plan, state, count } of overview().planNodes) own.set({ plan, state }, count);
    },
  );
  gauge(
    'drydock_plan_misses_deadline',
    '1 when a MaintenancePlan is predicted to miss its deadline.',
    ['plan'],
    own => {
      for (const { plan, isMissed } of overview().planDeadlines)
        own.set({ plan }, isMissed ? 1 : 0);
    },
  );
}

/** Registers the gauges, which are read at each scrape, from the current state. */
function gauges(registers: Registry[], overview: () => Overview, leading: () => boolean): void {
  const gauge: AddGauge = (name, help, labelNames, collect) =>
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
  gauge(
    'drydock_maintenances',
    'Maintenance objects, by kind and state.',
    ['kind', 'state'],
    own => {
      for (const { kind, state, count } of overview().maintenances) own.set({ kind, state }, count);
    },
  );
  gauge('drydock_held_nodes', 'Nodes that carry a hold.', [], own => own.set(overview().heldNodes));
  gauge(
    'drydock_blockers',
    'What keeps drains from being complete at the moment, by reason.',
    ['reason'],
    own => {
      for (const { reason, count } of overview().blockers) own.set({ reason }, count);
    },
  );
  gauge(
    'drydock_virtual_machines',
    'VMs that leave, or have left, the nodes that are worked on, by state.',
    ['platform', 'state'],
    own => {
      for (const { platform, state, count } of overview().vms) own.set({ platform, state }, count);
    },
  );
  planGauges(gauge, overview);
  gauge(
    'drydock_evictions_under_way',
    'Evictions that have been asked for and are not settled.',
    [],
    own => own.set(overview().evictionsUnderWay),
  );
  gauge('drydock_queue_depth', 'Nodes that wait to be looked at.', [], own =>
    own.set(overview().queueDepth),
  );
  gauge(
    'drydock_unsynced_collections',
    'Collections of the API that have not been read yet.',
    [],
    own => own.set(overview().unsynced.length),
  );
  gauge('drydock_leader', '1 when this replica acts.', [], own => own.set(leading() ? 1 : 0));
}

type AddCounter = <L extends string>(name: string, help: string, labelNames: L[]) => Counter<L>;

/** Registers the counters of calls to what stands beside the cluster. */
function neighbourCounters(
  counter: AddCounter,
): Pick<Metrics, 'novaMeter' | 'monitoringMeter' | 'notificationMeter'> {
  const novaCalls = counter('drydock_openstack_calls_total', 'Changes that Nova was asked for.', [
    'call',
    'outcome',
  ]);
  const notifications = counter(
    'drydock_notifications_total',
    'Notifications, by receiver and what has become of them.',
    ['receiver', 'result'],
  );
  const gateQueries = counter(
    'drydock_gate_queries_total',
    'Questions of gates to Prometheus and Alertmanager.',
    ['kind', 'result'],
  );
  return {
    novaMeter: { asked: (call, outcome) => novaCalls.inc({ call, outcome }) },
    monitoringMeter: { queried: (kind, result) => gateQueries.inc({ kind, result }) },
    notificationMeter: { notified: (receiver, result) => notifications.inc({ receiver, result }) },
  };
}

/** Registers the counters and histograms, which grow with events. */
function counters(
  registers: Registry[],
): Pick<Metrics, 'meter' | 'novaMeter' | 'monitoringMeter' | 'notificationMeter' | 'apiCall'> {
  const counter: AddCounter = (name, help, labelNames) =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <L extends string>(
    name: string,
    help: string,
    labelNames: L[],
    buckets = fast,
  ): Histogram<L> => new Histogram<L>({ name, help, labelNames, buckets, registers });
  const evictions = counter(
    'drydock_evictions_total',
    'Answered evictions and deletions of pods.',
    ['method', 'outcome'],
  );
  const evictionSeconds = histogram(
    'drydock_eviction_duration_seconds',
    'Time until an eviction was answered.',
    ['method'],
  );
  const writes = counter(
    'drydock_writes_total',
    'Writes to nodes, leases and maintenance objects.',
    ['store', 'result'],
  );
  const decisions = histogram(
    'drydock_decision_duration_seconds',
    'Time to decide on one node.',
    [],
    [0.0001, 0.00025, 0.0005, ...fast],
  );
  const panics = counter(
    'drydock_reconcile_panics_total',
    'Defects: throws that a loop or a watch has caught, by the kind it works on.',
    ['controller'],
  );
  const calls = histogram('drydock_api_request_duration_seconds', 'Calls to the API server.', [
    'method',
    'path',
    'status',
  ]);
  return {
    ...neighbourCounters(counter),
    meter: {
      evicted: (method, outcome, seconds) => {
        evictions.inc({ method, outcome });
        evictionSeconds.observe({ method }, seconds);
      },
      wrote: (store, result) => writes.inc({ store, result }),
      decided: seconds => decisions.observe(seconds),
      panicked: controller => panics.inc({ controller }),
    },
    apiCall: ({ method, path, status, seconds }) =>
      calls.observe({ method, path, status: String(status) }, seconds),
  };
}

/** Creates all metrics of the operator, in a registry of their own. */
export function metrics(overview: () => Overview, leading: () => boolean): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  gauges([registry], overview, leading);
  return {
    ...counters([registry]),
    text: () => registry.metrics(),
    contentType: registry.contentType,
  };
}
