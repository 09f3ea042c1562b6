import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Overview } from '../ports.ts';
import { type Metrics, metrics } from './metrics.ts';

const nothing: Overview = {
  maintenances: [],
  heldNodes: 0,
  blockers: [],
  vms: [],
  planPhases: [],
  planNodes: [],
  planDeadlines: [],
  evictionsUnderWay: 0,
  queueDepth: 0,
  unsynced: [],
  withheld: [],
};

/** The lines with values, of our own metrics only. */
async function linesOf(all: Metrics): Promise<readonly string[]> {
  return (await all.text())
    .split('\n')
    .filter(line => line.startsWith('drydock_'))
    .sort();
}

test('gauges show what is known when somebody asks, and forget what was', async () => {
  let seen: Overview = {
    maintenances: [
      { kind: 'Maintenance', state: 'Draining', count: 2 },
      { kind: 'NodeMaintenance', state: 'Drained', count: 1 },
    ],
    heldNodes: 3,
    blockers: [{ reason: 'DisruptionBudget', count: 4 }],
    vms: [{ platform: 'KubeVirt', state: 'Moved', count: 7 }],
    planPhases: [{ plan: 'kernel', phase: 'Halted' }],
    planNodes: [{ plan: 'kernel', state: 'Done', count: 12 }],
    planDeadlines: [
      { plan: 'kernel', isMissed: true },
      { plan: 'firmware', isMissed: false },
    ],
    evictionsUnderWay: 5,
    queueDepth: 6,
    unsynced: ['nodes', 'leases'],
    withheld: [],
  };
  let leading = true;
  const all = metrics(
    () => seen,
    () => leading,
  );
  assert.deepEqual(
    await linesOf(all),
    [
      'drydock_blockers{reason="DisruptionBudget"} 4',
      ...emptyHistograms,
      'drydock_evictions_under_way 5',
      'drydock_held_nodes 3',
      'drydock_leader 1',
      'drydock_maintenances{kind="Maintenance",state="Draining"} 2',
      'drydock_maintenances{kind="NodeMaintenance",state="Drained"} 1',
      'drydock_plan_phase{plan="kernel",phase="Halted"} 1',
      'drydock_plan_nodes{plan="kernel",state="Done"} 12',
      'drydock_plan_misses_deadline{plan="kernel"} 1',
      'drydock_plan_misses_deadline{plan="firmware"} 0',
      'drydock_queue_depth 6',
      'drydock_unsynced_collections 2',
      'drydock_virtual_machines{platform="KubeVirt",state="Moved"} 7',
    ].sort(),
  );
  seen = nothing;
  leading = false;
  assert.deepEqual(
    await linesOf(all),
    [
      ...emptyHistograms,
      'drydock_evictions_under_way 0',
      'drydock_held_nodes 0',
      'drydock_leader 0',
      'drydock_queue_depth 0',
      'drydock_unsynced_collections 0',
    ].sort(),
  );
});

/** A histogram without labels is there from the beginning. */
const emptyHistograms = [
  ...[
    0.0001,
    0.00025,
    0.0005,
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1,
    2.5,
    5,
    10,
    '+Inf',
  ].map(bound => `drydock_decision_duration_seconds_bucket{le="${bound}"} 0`),
  'drydock_decision_duration_seconds_count 0',
  'drydock_decision_duration_seconds_sum 0',
];

test('counters grow with what happens', async () => {
  const all = metrics(
    () => nothing,
    () => true,
  );
  all.meter.evicted('evict', 'accepted', 0.2);
  all.meter.evicted('evict', 'accepted', 0.4);
  all.meter.evicted('delete', 'failed', 7);
  all.meter.wrote('nodes', 'stored');
  all.meter.wrote('nodes', 'conflict');
  all.meter.decided(0.0002);
  all.meter.panicked('Node');
  all.apiCall({ method: 'GET', path: '/api/v1/pods', status: 200, seconds: 0.03 });
  const lines = new Set(await linesOf(all));
  const expected = [
    'drydock_evictions_total{method="evict",outcome="accepted"} 2',
    'drydock_evictions_total{method="delete",outcome="failed"} 1',
    'drydock_eviction_duration_seconds_count{method="evict"} 2',
    'drydock_eviction_duration_seconds_bucket{le="0.25",method="evict"} 1',
    'drydock_eviction_duration_seconds_bucket{le="0.5",method="evict"} 2',
    'drydock_writes_total{store="nodes",result="stored"} 1',
    'drydock_writes_total{store="nodes",result="conflict"} 1',
    'drydock_decision_duration_seconds_bucket{le="0.0001"} 0',
    'drydock_decision_duration_seconds_bucket{le="0.00025"} 1',
    'drydock_decision_duration_seconds_sum 0.0002',
    'drydock_reconcile_panics_total{controller="Node"} 1',
    'drydock_api_request_duration_seconds_count{method="GET",path="/api/v1/pods",status="200"} 1',
  ];
  assert.deepEqual(
    expected.filter(line => !lines.has(line)),
    [],
    [...lines].join('\n'),
  );
});

test('what Prometheus reads has a type and a help text for each, and the numbers of the process', async () => {
  const all = metrics(
    () => nothing,
    () => true,
  );
  assert.match(all.contentType, /^text\/plain; version=0\.0\.4/);
  const text = await all.text();
  assert.match(text, /^process_resident_memory_bytes \d/m);
  const named = (what: string): readonly string[] =>
    [...text.matchAll(new RegExp(`^# ${what} (drydock_\\w+)`, 'gm'))]
      .map(([, name = '']) => name)
      .sort();
  assert.deepEqual(named('TYPE'), named('HELP'));
  assert.deepEqual(named('TYPE'), [
    'drydock_api_request_duration_seconds',
    'drydock_blockers',
    'drydock_decision_duration_seconds',
    'drydock_eviction_duration_seconds',
    'drydock_evictions_total',
    'drydock_evictions_under_way',
    'drydock_gate_queries_total',
    'drydock_held_nodes',
    'drydock_leader',
    'drydock_maintenances',
    'drydock_notifications_total',
    'drydock_openstack_calls_total',
    'drydock_plan_misses_deadline',
    'drydock_plan_nodes',
    'drydock_plan_phase',
    'drydock_queue_depth',
    'drydock_reconcile_panics_total',
    'drydock_unsynced_collections',
    'drydock_virtual_machines',
    'drydock_writes_total',
  ]);
});

test('two of them do not share a number', async () => {
  const [one, other] = [0, 1].map(() =>
    metrics(
      () => nothing,
      () => true,
    ),
  );
  one?.meter.wrote('nodes', 'stored');
  assert.ok(!(await other?.text())?.includes('drydock_writes_total{'));
});
