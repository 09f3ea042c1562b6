import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { seedPolicy } from '@drydock/core/drain';
import type { Report } from '@drydock/core/request';
import { type MaintenanceRequest, noHistory } from '@drydock/core/request';
import { at } from '@drydock/core/testing';
import { medik8s } from './node-maintenance.ts';

const adapter = medik8s('leases');

function raw(
  over: { readonly metadata?: object; readonly spec?: object; readonly status?: object } = {},
): unknown {
  return {
    metadata: {
      name: 'nm',
      uid: 'u',
      resourceVersion: '7',
      creationTimestamp: '2026-11-21T08:00:00Z',
      ...over.metadata,
    },
    spec: { nodeName: 'n1', ...over.spec },
    ...(over.status && { status: over.status }),
  };
}

function read(over?: Parameters<typeof raw>[0]): MaintenanceRequest {
  const request = adapter.read(raw(over));
  assert.ok(typeof request !== 'string');
  return request;
}

function report(over: Partial<Report> = {}): Report {
  return {
    state: 'Draining',
    held: true,
    leaseErrors: 0,
    waiting: [],
    blockers: [],
    ...over,
  };
}

function pods(toEvict: number, gone: number, total = toEvict): NonNullable<Report['pods']> {
  return {
    total,
    toEvict,
    gone,
    waiting: toEvict - gone,
  };
}

/** As it is stored: what is undefined is left out. */
function status(over: Partial<Report>, stored: object = {}, seconds = 100): JsonObject {
  return JSON.parse(
    JSON.stringify(adapter.status(report(over), read({ status: stored }), at(seconds))),
  ) as JsonObject;
}

test('an object is read as a full drain with the policy of the operator that is replaced', () => {
  const {
    key,
    nodeName,
    level,
    policy,
    claim,
    history,
    deleting,
    finalizers,
    generation,
    createdAt,
  } = read();
  assert.deepEqual(
    {
      key,
      nodeName,
      level,
      policy,
      claim,
      history,
      deleting,
      finalizers,
      generation,
      createdAt: createdAt.toString(),
    },
    {
      key: 'nodemaintenances.nodemaintenance.medik8s.io//nm',
      nodeName: 'n1',
      level: 'Drain',
      policy: seedPolicy,
      claim: 'none',
      history: noHistory,
      deleting: false,
      finalizers: [],
      generation: 0,
      createdAt: '2026-11-21T08:00:00Z',
    },
  );
});

test('reason, finalizers, claim and deletion are read where they are', () => {
  const request = read({
    metadata: {
      finalizers: ['a/b'],
      annotations: { 'drydock.dev/claim': 'taken-over' },
      deletionTimestamp: '2026-11-21T09:00:00Z',
      generation: 3,
    },
    spec: { reason: 'disk' },
  });
  assert.deepEqual(
    [request.reason, request.finalizers, request.claim, request.deleting, request.generation],
    ['disk', ['a/b'], 'takenOver', true, 3],
  );
  assert.equal(read({ metadata: { annotations: { 'drydock.dev/claim': 'ours' } } }).claim, 'ours');
  assert.equal(
    read({ metadata: { annotations: { 'drydock.dev/claim': 'nonsense' } } }).claim,
    'none',
  );
});

test('an object without a node name cannot be worked with, and says what to do', () => {
  assert.equal(
    adapter.read(raw({ spec: { nodeName: '' } })),
    'spec.nodeName is empty: name the node to maintain',
  );
  const { spec: _spec, ...bare } = raw() as { readonly spec: unknown };
  assert.equal(adapter.read(bare), 'spec.nodeName is empty: name the node to maintain');
});

test('the history comes from the stored status, whoever wrote it', () => {
  const { history } = read({
    status: {
      phase: 'Running',
      evictionPods: 5,
      pendingPods: ['a', 'b'],
      errorOnLeaseCount: 2,
      totalpods: 9,
    },
  });
  assert.deepEqual(history, {
    ...noHistory,
    state: 'Draining',
    toEvict: 5,
    gone: 3,
    leaseErrors: 2,
  });
  assert.equal(read({ status: { phase: 'Succeeded' } }).history.state, 'Drained');
  assert.equal(read({ status: { phase: 'Odd' } }).history.state, undefined);
  assert.equal(
    read({ status: { phase: 'Running', evictionPods: 1, pendingPods: ['a', 'b', 'c'] } }).history
      .gone,
    0,
    'never below 0',
  );
});

test('a stored failure is told apart by its text: a missing node is looked for anew, a lost lease is not', () => {
  const failure = (lastError: string): unknown =>
    read({ status: { phase: 'Failed', lastError } }).history.failure;
  assert.equal(failure('nodes "n1" not found'), 'NodeNotFound');
  assert.equal(
    failure('maintenance failed: lease could not be extended after 4 attempts'),
    'LeaseLost',
  );
  assert.equal(
    read({ status: { phase: 'Running', lastError: 'nodes "n1" not found' } }).history.failure,
    undefined,
  );
});

test('phases are the three words of the contract', () => {
  const phase = (state: Report['state']): unknown => status({ state })['phase'];
  assert.deepEqual(
    (
      [
        'Pending',
        'Announced',
        'Cordoned',
        'Draining',
        'Detaching',
        'Releasing',
        'Drained',
        'Failed',
      ] as const
    ).map(phase),
    ['Running', 'Running', 'Running', 'Running', 'Running', 'Running', 'Succeeded', 'Failed'],
  );
});

test('the counts are spelled and computed as in the contract', () => {
  const waiting = [
    { namespace: 'shop', name: 'a' },
    { namespace: 'db', name: 'b' },
  ];
  assert.deepEqual(status({ pods: pods(3, 1, 7), waiting }), {
    phase: 'Running',
    drainProgress: 33,
    pendingPods: ['a', 'b'],
    pendingPodsRefs: waiting,
    totalpods: 7,
    evictionPods: 3,
    lastUpdate: '2026-11-21T08:01:40Z',
  });
});

test('progress is whole, truncated, and between 0 and 100; 0 is left out', () => {
  const progress = (toEvict: number, gone: number): unknown =>
    status({ pods: pods(toEvict, gone) })['drainProgress'];
  assert.deepEqual(
    [
      progress(3, 2),
      progress(7, 1),
      progress(200, 199),
      progress(3, 0),
      progress(0, 0),
      progress(2, 5),
      progress(4, -1),
    ],
    [66, 14, 99, undefined, undefined, 100, undefined],
  );
  assert.equal(
    status({ state: 'Drained', pods: pods(0, 0) })['drainProgress'],
    100,
    'a node that had no pods is done as well',
  );
});

test('numbers that are zero and lists that are empty are left out', () => {
  assert.deepEqual(Object.keys(status({ pods: pods(0, 0, 0) })).sort(), ['lastUpdate', 'phase']);
});

test('on success the error, the lease errors and the pending pods are cleared', () => {
  const stored = {
    phase: 'Running',
    lastError: 'old',
    errorOnLeaseCount: 2,
    pendingPods: ['a'],
    pendingPodsRefs: [{ name: 'a' }],
    evictionPods: 1,
  };
  assert.deepEqual(status({ state: 'Drained', pods: pods(1, 1, 2) }, stored), {
    phase: 'Succeeded',
    drainProgress: 100,
    totalpods: 2,
    evictionPods: 1,
    lastUpdate: '2026-11-21T08:01:40Z',
  });
});

test('as long as the pods are not known the stored counts stay', () => {
  const stored = {
    drainProgress: 40,
    pendingPods: ['a'],
    pendingPodsRefs: [{ name: 'a' }],
    totalpods: 9,
    evictionPods: 5,
  };
  const {
    phase: _phase,
    lastUpdate: _lastUpdate,
    ...counts
  } = status({ state: 'Draining' }, stored);
  assert.deepEqual(counts, stored);
});

test('lastUpdate moves only when something else changes', () => {
  const first = status({ pods: pods(2, 1) }, {}, 100);
  assert.deepEqual(status({ pods: pods(2, 1) }, first, 200), first);
  assert.equal(status({ pods: pods(2, 2) }, first, 200)['lastUpdate'], '2026-11-21T08:03:20Z');
});

test('a lease in other hands: its text and its count are told', () => {
  const problem = { reason: 'LeaseHeldByOther', message: 'failed to obtain a lease' };
  const { lastError, errorOnLeaseCount } = status({ problem, leaseErrors: 3 });
  assert.deepEqual([lastError, errorOnLeaseCount], ['failed to obtain a lease', 3]);
});

function blocker(
  name: string,
  since: number,
  message = 'budget web needs 3',
): Report['blockers'][number] {
  return {
    reason: 'DisruptionBudget',
    pod: { namespace: 'shop', name },
    message,
    since: at(since),
  };
}

test('a pod is an error once it has not moved for 30 seconds', () => {
  const lastError = (since: number): unknown =>
    status({ blockers: [blocker('a', since)] })['lastError'];
  assert.equal(lastError(71), undefined);
  assert.equal(lastError(70), 'error when evicting pods/"a" -n "shop": budget web needs 3');
});

test('several errors are one text, bounded', () => {
  const texts = (count: number): string =>
    status({ blockers: Array.from({ length: count }, (_, n) => blocker(`p${n}`, 0)) })[
      'lastError'
    ] as string;
  assert.equal(
    texts(2),
    '[error when evicting pods/"p0" -n "shop": budget web needs 3, error when evicting pods/"p1" -n "shop": budget web needs 3]',
  );
  assert.match(texts(500), / and 490 more\]$/);
});

test('what is written is read back as the same history', () => {
  const waiting = [{ namespace: 'shop', name: 'a' }];
  const stored = status({ state: 'Draining', pods: pods(4, 3), waiting, leaseErrors: 1 });
  assert.deepEqual(read({ status: stored }).history, {
    ...noHistory,
    state: 'Draining',
    toEvict: 4,
    gone: 3,
    leaseErrors: 1,
  });
});

test('marks, lease, finalizer and events are those that sibling operators look for', () => {
  assert.deepEqual(adapter.marks('Drain'), {
    unschedulable: true,
    taints: [
      { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' },
      { key: 'medik8s.io/drain', effect: 'NoSchedule' },
    ],
    labels: { 'remediation.medik8s.io/exclude-from-remediation': 'true' },
  });
  assert.deepEqual(adapter.lease('Node-A'), {
    namespace: 'leases',
    name: 'node-node-a',
    holder: 'node-maintenance',
    released: 'deleted',
  });
  assert.equal(adapter.finalizer, 'foregroundDeleteNodeMaintenance');
  assert.deepEqual(
    Object.values(adapter.events).map(({ reason }) => reason),
    [
      'BeginMaintenance',
      'SucceedMaintenance',
      'FailedMaintenance',
      'RemovedMaintenance',
      'UncordonNode',
    ],
  );
});
