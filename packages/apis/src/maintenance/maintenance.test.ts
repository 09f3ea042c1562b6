import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { blockerId, eachReasonFirst } from '@drydock/core/drain';
import { blockersNow, type DrainInputs } from '@drydock/core/maintenance';
import type { Report } from '@drydock/core/request';
import { type MaintenanceRequest, noHistory } from '@drydock/core/request';
import { at } from '@drydock/core/testing';
import type { VmStatus } from '@drydock/core/vm';
import type { MaintenanceSpec, MaintenanceStatus } from '../schema/maintenance.ts';
import { maintenance } from './maintenance.ts';

const adapter = maintenance('leases');

function raw(spec: Partial<MaintenanceSpec>, status?: object, generation = 4): unknown {
  return {
    metadata: {
      name: 'disk',
      uid: 'u',
      resourceVersion: '7',
      generation,
      creationTimestamp: '2026-11-21T08:00:00Z',
    },
    spec: { nodeName: 'n1', ...spec },
    ...(status && { status }),
  };
}

function read(spec: Partial<MaintenanceSpec> = {}, status?: object): MaintenanceRequest {
  const request = adapter.read(raw(spec, status));
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

function pods(toEvict: number, gone: number): NonNullable<Report['pods']> {
  return {
    total: toEvict + 2,
    toEvict,
    gone,
    waiting: toEvict - gone,
  };
}

function blocker(
  name: string,
  over: Partial<Report['blockers'][number]> = {},
): Report['blockers'][number] {
  return {
    reason: 'DisruptionBudget',
    pod: { namespace: 'shop', name },
    budgets: ['shop/web'],
    message: 'budget web needs 3',
    since: at(10),
    ...over,
  };
}

/** As it is stored: what is undefined is left out. */
function status(
  over: Partial<Report>,
  stored: object = {},
  seconds = 100,
): MaintenanceStatus & JsonObject {
  return JSON.parse(
    JSON.stringify(adapter.status(report(over), read({}, stored), at(seconds))),
  ) as MaintenanceStatus & JsonObject;
}

test('what a spec leaves out has the defaults of the CRD', () => {
  const { level, policy, history, nodeName } = read();
  assert.deepEqual(
    { level, policy, history, nodeName },
    {
      nodeName: 'n1',
      level: 'Drain',
      history: noHistory,
      policy: {
        gracePeriodSeconds: -1,
        deleteEmptyDirData: false,
        force: false,
        ignoreDaemonSets: true,
        disableEviction: false,
        skipWaitForDeleteTimeoutSeconds: 0,
        waves: [],
        ignorePods: [],
        awaitPods: [],
        ladder: [],
        waitForVolumeDetach: true,
        virtualMachines: { notMigratable: 'Wait', notMigrated: 'Evict', shutDownAfterSeconds: 0 },
        servers: {
          active: 'LiveMigrate',
          paused: 'LiveMigrate',
          stopped: 'ColdMigrate',
          failed: 'Wait',
          localDisk: 'Migrate',
        },
      },
    },
  );
});

test('what a spec says is what counts', () => {
  const picks = [{ namespaces: ['batch'] }];
  const drain = {
    podSelector: { matchLabels: { app: 'web' } },
    gracePeriodSeconds: 20,
    deleteEmptyDirData: true,
    force: true,
    ignoreDaemonSets: false,
    disableEviction: true,
    skipWaitForDeleteTimeoutSeconds: 60,
    waves: picks,
    ignorePods: [{ maxPriority: -1 }],
    awaitPods: [{ ownerKinds: ['Job'] }],
    waitForVolumeDetach: false,
    virtualMachines: {
      notMigratable: 'ShutDown',
      notMigrated: 'Wait',
      shutDownAfterSeconds: 60,
      shutDownGracePeriodSeconds: 90,
    } as const,
    servers: {
      active: 'Leave',
      paused: 'Leave',
      stopped: 'Leave',
      failed: 'Leave',
      localDisk: 'Leave',
    } as const,
  };
  const { policy, reason, requester, level } = read({
    level: 'Cordon',
    reason: 'disk',
    requester: 'me.example.com/x',
    drain,
  });
  assert.deepEqual(policy, { ...drain, ladder: [] });
  assert.deepEqual([reason, requester, level], ['disk', 'me.example.com/x', 'Cordon']);
});

test('timeoutSeconds is a ladder with the one rung Fail; a ladder is brought into the order of time', () => {
  assert.deepEqual(read({ drain: { timeoutSeconds: 90 } }).policy.ladder, [
    { afterSeconds: 90, action: 'Fail' },
  ]);
  assert.deepEqual(read({ drain: { timeoutSeconds: 0 } }).policy.ladder, []);
  const ladder = [
    { afterSeconds: 600, action: 'Release' as const },
    { afterSeconds: 60, action: 'Delete' as const, gracePeriodSeconds: 5 },
  ];
  assert.deepEqual(
    read({ drain: { ladder } }).policy.ladder.map(({ action }) => action),
    ['Delete', 'Release'],
  );
});

test('an object without a node name cannot be worked with, and says what to do', () => {
  assert.equal(
    adapter.read(raw({ nodeName: '' })),
    'spec.nodeName is empty: name the node to maintain',
  );
});

test('however many blockers there are, each reason is named and counted', () => {
  const many = Array.from({ length: 30 }, (_, index) =>
    blocker(`full-${String(index).padStart(2, '0')}`),
  );
  const stuck = { ...blocker('stuck'), reason: 'StuckTerminating' as const };
  const denied = { ...blocker('denied'), reason: 'AdmissionDenied' as const };
  const stored = status({
    state: 'Draining',
    pods: pods(32, 0),
    blockers: eachReasonFirst([...many, denied, stuck]),
  });
  const { blockers, blockerCount, blockerReasons } = stored as MaintenanceStatus;
  assert.deepEqual([blockers?.length, blockerCount], [20, 32]);
  assert.deepEqual(
    new Set(blockers?.map(({ reason }) => reason)),
    new Set(['DisruptionBudget', 'AdmissionDenied', 'StuckTerminating']),
  );
  assert.deepEqual(
    blockerReasons?.toSorted((one, other) => other.count - one.count),
    [
      { reason: 'DisruptionBudget', count: 30 },
      { reason: 'AdmissionDenied', count: 1 },
      { reason: 'StuckTerminating', count: 1 },
    ],
  );
  assert.deepEqual(
    (status({ state: 'Drained', pods: pods(32, 32) }) as MaintenanceStatus).blockerReasons,
    undefined,
  );
});

test('a status that was written is read back as the same history', () => {
  const one = blocker('a');
  const stored = status({
    state: 'Failed',
    failure: 'DeadlineExceeded',
    pods: pods(5, 2),
    leaseErrors: 2,
    blockers: [one],
    drainStartedAt: at(5),
    drainedAt: at(50),
  });
  assert.deepEqual(read({}, stored).history, {
    state: 'Failed',
    failure: 'DeadlineExceeded',
    toEvict: 5,
    gone: 2,
    leaseErrors: 2,
    drainStartedAt: at(5),
    drainedAt: at(50),
    blockedSince: new Map([[blockerId(one), at(10)]]),
    blockerCount: 1,
  });
});

test('times that cannot be read are no times', () => {
  assert.deepEqual(
    read({}, { startTime: 'yesterday', blockers: [{ reason: 'X', message: '', startTime: '?' }] })
      .history,
    noHistory,
  );
});

test('of many blockers the first 20 are stored, and how many there are', () => {
  const blockers = Array.from({ length: 23 }, (_, n) => blocker(`p${n}`));
  const stored = status({ pods: pods(30, 7), blockers });
  assert.equal(stored.blockers?.length, 20);
  assert.equal(stored.blockerCount, 23);
  const { since: _since, ...first } = blocker('p0');
  assert.deepEqual(stored.blockers[0], { ...first, startTime: '2026-11-21T08:00:10Z' });
  const few = status({ pods: pods(3, 1), blockers: blockers.slice(0, 2) });
  assert.deepEqual([few.blockers?.length, few.blockerCount], [2, 2]);
  const none = status({ pods: pods(3, 3) });
  assert.deepEqual([none.blockers, none.blockerCount], [undefined, undefined]);
});

test('what the status has of blockers is what the commands show of them', () => {
  const stored = status({
    state: 'Draining',
    pods: pods(3, 1),
    blockers: [blocker('a', { remedy: 'run more replicas' })],
  });
  assert.deepEqual(blockersNow(read({}, stored), {} as DrainInputs, at(100)), [
    {
      reason: 'DisruptionBudget',
      what: 'shop/a',
      message: 'budget web needs 3',
      since: '2026-11-21T08:00:10Z',
      remedy: 'run more replicas',
    },
  ]);
});

test('as long as the pods are not known, what is stored of them stays', () => {
  const stored = status({ pods: pods(4, 1), blockers: [blocker('a')] });
  const later = status({ state: 'Draining' }, stored, 200);
  assert.deepEqual(
    [later.pods, later.blockers, later.blockerCount, later.progress],
    [stored.pods, stored.blockers, 1, 25],
  );
});

test('what kept a drain from going on is not named any more once there is no drain', () => {
  const stored = status({ pods: pods(4, 1), blockers: [blocker('a')] });
  for (const state of ['Cordoned', 'Pending', 'Failed'] as const) {
    const later = adapter.status(report({ state }), read({}, stored), at(200));
    assert.deepEqual(
      [later['blockers'], later['blockerCount'], later['pods']],
      [undefined, undefined, stored.pods],
      state,
    );
  }
});

test('progress is whole and between 0 and 100', () => {
  const progress = (over: Partial<Report>): unknown => status(over).progress;
  assert.deepEqual(
    [
      progress({ pods: pods(3, 2) }),
      progress({ pods: pods(0, 0) }),
      progress({ pods: pods(2, 9) }),
      progress({ pods: pods(2, -1) }),
    ],
    [66, 0, 100, 0],
  );
  assert.equal(progress({ state: 'Drained', pods: pods(0, 0) }), 100);
});

test('the sentence says how things stand', () => {
  const message = (over: Partial<Report>): unknown => status(over).message;
  assert.equal(message({ pods: pods(5, 2) }), '2 of 5 pods gone');
  const waits = [
    blocker('a'),
    blocker('b', { reason: 'Terminating' }),
    blocker('c', { reason: 'EarlierWave' }),
  ];
  assert.equal(message({ pods: pods(5, 2), blockers: waits }), '2 of 5 pods gone, 1 cannot go yet');
  assert.equal(message({ state: 'Drained' }), 'The node is drained and held');
  const { pod: _pod, ...volume } = blocker('x', { reason: 'VolumeAttached', volume: 'pv-1' });
  assert.equal(
    message({ state: 'Detaching', blockers: [volume] }),
    'All pods gone; still attached: pv-1',
  );
  assert.equal(message({ problem: { reason: 'X', message: 'the trouble' } }), 'the trouble');
});

test('an estimate is rewritten only when it says something new', () => {
  const first = status({ estimatedEnd: at(500) });
  assert.equal(first.estimatedCompletionTime, '2026-11-21T08:08:20Z');
  assert.equal(
    status({ estimatedEnd: at(502) }, first).estimatedCompletionTime,
    '2026-11-21T08:08:20Z',
  );
  assert.equal(
    status({ estimatedEnd: at(503) }, first).estimatedCompletionTime,
    '2026-11-21T08:08:23Z',
  );
  assert.equal(status({}, first).estimatedCompletionTime, undefined);
});

test('a report that says nothing new is the same status, whatever the time', () => {
  const over = {
    pods: pods(4, 1),
    blockers: [blocker('a')],
    drainStartedAt: at(5),
    estimatedEnd: at(500),
  };
  const first = status(over, {}, 100);
  assert.deepEqual(status(over, first, 900), first);
});

function conditionsOf(stored: MaintenanceStatus): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    (stored.conditions ?? []).map(({ type, status, reason }) => [type, [status, reason]]),
  );
}

test('the conditions say held, drained, failed', () => {
  assert.deepEqual(conditionsOf(status({ pods: pods(2, 1) })), {
    NodeHeld: ['True', 'Held'],
    Drained: ['False', 'DrainInProgress'],
    Failed: ['False', 'NoFailure'],
  });
  assert.deepEqual(conditionsOf(status({ state: 'Drained' })), {
    NodeHeld: ['True', 'Held'],
    Drained: ['True', 'DrainCompleted'],
    Failed: ['False', 'NoFailure'],
  });
  const problem = { reason: 'LeaseLost', message: 'gone' };
  assert.deepEqual(
    conditionsOf(status({ state: 'Failed', held: false, failure: 'LeaseLost', problem })),
    {
      NodeHeld: ['False', 'LeaseLost'],
      Drained: ['False', 'LeaseLost'],
      Failed: ['True', 'LeaseLost'],
    },
  );
  const stuck = status({
    pods: pods(2, 1),
    blockers: [blocker('a', { reason: 'MultipleBudgets', message: '2 budgets' })],
  });
  assert.deepEqual(conditionsOf(stuck)['Drained'], ['False', 'Blocked']);
  assert.deepEqual(conditionsOf(status({ state: 'Announced', held: false }))['NodeHeld'], [
    'False',
    'Announced',
  ]);
});

test('the text of a condition is bounded however many blockers there are', () => {
  const blockers = Array.from({ length: 200 }, (_, n) =>
    blocker(`p${n}`, { reason: 'MultipleBudgets', message: '2 budgets' }),
  );
  const drained = status({ pods: pods(200, 0), blockers }).conditions?.find(
    ({ type }) => type === 'Drained',
  );
  assert.match(drained?.message ?? '', /^shop\/p0: 2 budgets, .* and 195 more$/);
});

test('the time of a transition moves only when the status does; every condition names the generation it speaks of', () => {
  const times = (stored: MaintenanceStatus): Readonly<Record<string, string>> =>
    Object.fromEntries(
      (stored.conditions ?? []).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]),
    );
  const first = status({ pods: pods(2, 1) }, {}, 100);
  const blocked = status(
    { pods: pods(2, 1), blockers: [blocker('a', { reason: 'Forbidden' })] },
    first,
    200,
  );
  assert.deepEqual(conditionsOf(blocked)['Drained'], ['False', 'Blocked']);
  assert.deepEqual(times(blocked), times(first), 'another reason is no transition');
  const drained = status({ state: 'Drained' }, blocked, 300);
  assert.deepEqual(times(drained), { ...times(first), Drained: '2026-11-21T08:05:00Z' });
  assert.deepEqual(
    drained.conditions?.map(({ observedGeneration }) => observedGeneration),
    [4, 4, 4],
  );
  assert.equal(drained.observedGeneration, 4);
});

test('marks grow with the level; the lease is the one that all operators of a node ask for', () => {
  const keys = (level: 'Announce' | 'Cordon' | 'Drain'): readonly string[] =>
    adapter.marks(level).taints.map(({ key }) => key);
  assert.deepEqual(
    [keys('Announce'), keys('Cordon'), keys('Drain')],
    [
      [],
      ['node.kubernetes.io/unschedulable'],
      ['node.kubernetes.io/unschedulable', 'drydock.dev/drain'],
    ],
  );
  assert.deepEqual(adapter.marks('Announce'), { unschedulable: false, taints: [], labels: {} });
  assert.equal(adapter.marks('Cordon').unschedulable, true);
  assert.deepEqual(adapter.lease('Node-A'), {
    namespace: 'leases',
    name: 'node-node-a',
    holder: 'node-maintenance',
    released: 'deleted',
  });
});

test('VMs are counted by their state, and those that need help are stored first; a process that begins anew goes on with what is stored', () => {
  const vm = (name: string, state: VmStatus['state']): VmStatus => ({
    platform: 'KubeVirt',
    id: `uid-${name}`,
    name: `vms/${name}`,
    state,
  });
  const many = Array.from({ length: 25 }, (_, at) =>
    vm(`m${String(at).padStart(2, '0')}`, 'Moved'),
  );
  const vms = [
    vm('a', 'Moved'),
    vm('b', 'Migrating'),
    { ...vm('c', 'Cannot'), remedy: 'help', since: at(7) },
    vm('d', 'Waiting'),
    ...many,
  ];
  const stored = status({
    state: 'Draining',
    pods: pods(5, 2),
    vms,
    vmsBefore: { moved: 2, stopped: 1 },
  });
  const { items = [], ...counts } = stored.virtualMachines ?? {};
  assert.deepEqual(counts, {
    total: 32,
    waiting: 1,
    migrating: 1,
    moved: 28,
    stopped: 1,
    cannot: 1,
    left: 0,
  });
  assert.deepEqual(
    items.slice(0, 4).map(({ name, state }) => `${name} ${state}`),
    ['vms/c Cannot', 'vms/b Migrating', 'vms/d Waiting', 'vms/a Moved'],
  );
  assert.equal(items.length, 20);
  const { vms: tracked } = read({}, stored).history;
  assert.equal(tracked?.vms.get('uid-c')?.since?.epochMilliseconds, at(7).epochMilliseconds);
  assert.deepEqual(tracked?.before, { moved: 28 - 17, stopped: 1 });
  assert.equal(status({ state: 'Draining', pods: pods(5, 2) }).virtualMachines, undefined);
});
