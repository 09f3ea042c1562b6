import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { planAdapter } from '@drydock/apis';
import type { Plan } from '@drydock/core/plan';
import type { PlanSummary } from '../scene.ts';
import { approvalOf, planView } from './plan-views.ts';

const time = '2026-05-01T10:00:00Z';

function planOf(status: JsonObject, spec: JsonObject = {}, generation = 1): Plan {
  return planAdapter.readPlan({
    metadata: {
      name: 'kernel',
      uid: 'u1',
      resourceVersion: '1',
      generation,
      creationTimestamp: time,
    },
    spec: { nodeSelector: {}, work: { none: {} }, ...spec },
    status: { observedGeneration: 1, ...status },
  });
}

function viewOf(status: JsonObject): PlanSummary {
  return planView(planOf(status));
}

function inFlight(node: string): JsonObject {
  return {
    node,
    nodeUID: `uid-${node}`,
    stage: 'canary',
    revision: 'r1',
    state: 'Rebooting',
    startTime: time,
    stateStartTime: time,
    attempt: 1,
  };
}

function wait(reason: string, more: JsonObject = {}): JsonObject {
  return { reason, message: `message of ${reason}`, startTime: time, ...more };
}

const run = { id: '1', revision: 'r1', startTime: time };

test('a plan that nobody has looked at is not begun', () => {
  assert.deepEqual(planView(planOf({}, { state: 'Paused' })), {
    key: 'kernel',
    uid: 'u1',
    phase: 'Pending',
    message: '',
    paused: true,
    aborted: false,
    deleting: false,
    stages: [],
    inFlight: [],
    waiting: [],
    failures: [],
    history: [],
  });
});

test('phase, stages, counts, limits; what a node in flight waits for is told with it, the rest by itself', () => {
  const view = viewOf({
    phase: 'Running',
    message: '1 done',
    nodes: {
      selected: 9,
      due: 4,
      blocked: 1,
      inFlight: 1,
      done: 1,
      failed: 2,
      skipped: 1,
      unavailable: 3,
      progress: '1/9',
    },
    resolved: { maxInFlight: 2 },
    stages: [{ name: 'canary', selected: 1, done: 1, phase: 'Complete' }],
    inFlight: [inFlight('w1')],
    waiting: [
      wait('MaxUnavailable'),
      wait('Window', { node: 'w2', until: time }),
      wait('Rebooting', { node: 'w1' }),
    ],
  });
  assert.deepEqual(view.counts, {
    due: 4,
    blocked: 1,
    inFlight: 1,
    done: 1,
    failed: 2,
    skipped: 1,
  });
  assert.deepEqual([view.phase, view.message, view.atOnce], ['Running', '1 done', 2]);
  assert.deepEqual(view.stages, [{ name: 'canary', selected: 1, done: 1, phase: 'Complete' }]);
  assert.deepEqual(view.inFlight, [
    {
      node: 'w1',
      stage: 'canary',
      state: 'Rebooting',
      since: time,
      wait: { reason: 'Rebooting', message: 'message of Rebooting', node: 'w1' },
    },
  ]);
  assert.deepEqual(view.waiting, [
    { reason: 'MaxUnavailable', message: 'message of MaxUnavailable' },
    { reason: 'Window', message: 'message of Window', node: 'w2', until: time },
  ]);
});

test('the latest failures come first', () => {
  const failures = ['a', 'b'].map(node => ({
    node,
    stage: 'rest',
    state: 'Working',
    message: 'no',
    time,
    held: node === 'b',
  }));
  assert.deepEqual(
    viewOf({ failures }).failures.map(({ node, held }) => [node, held]),
    [
      ['b', true],
      ['a', false],
    ],
  );
});

test('however long a status is, the view is short', () => {
  const long = 'x'.repeat(100_000);
  const many = Array.from({ length: 1000 }, (_, number) => `w${number}`);
  const view = viewOf({
    phase: 'Running',
    message: long,
    nodes: { inFlight: 1000 },
    stages: many.map(name => ({ name: long + name, selected: 1, done: 0, phase: long })),
    inFlight: many.map(inFlight),
    waiting: many.map(node => wait(long, { node: `other-${node}`, message: long })),
    failures: many.map(node => ({
      node,
      stage: long,
      state: long,
      message: long,
      time,
      held: true,
    })),
  });
  assert.deepEqual(
    [view.inFlight.length, view.waiting.length, view.failures.length, view.stages.length],
    [12, 8, 5, 40],
  );
  assert.equal(view.counts?.inFlight, 1000);
  assert.equal(view.message.length, 512);
  assert.ok(JSON.stringify(view).length < 70_000);
});

test('a status of another operator, or of nobody, is shown as far as it can be understood', () => {
  const strange = viewOf({
    phase: 'Dancing',
    message: 7,
    nodes: { due: 'many', done: -1, failed: 2 },
    resolved: [],
    stages: [7, null, { name: 7 }],
    inFlight: [{ ...inFlight('w1'), state: 'Dancing', stateStartTime: 'yesterday' }],
    waiting: [null, { reason: 'Window', until: 'tomorrow' }],
    failures: 'none',
  });
  assert.deepEqual([strange.phase, strange.message, strange.atOnce], ['Pending', '', undefined]);
  assert.deepEqual(strange.counts, {
    due: 0,
    blocked: 0,
    inFlight: 0,
    done: 0,
    failed: 2,
    skipped: 0,
  });
  assert.deepEqual(strange.stages, [{ name: '', phase: '', selected: 0, done: 0 }]);
  assert.deepEqual(strange.inFlight, [
    { node: 'w1', stage: 'canary', state: 'Starting', since: '' },
  ]);
  assert.deepEqual(strange.waiting, [{ reason: 'Window', message: '' }]);
});

test('an approval is asked for with the run, its revision and the stage, and only by a status that is about the plan as it is', () => {
  const asking = {
    phase: 'AwaitingApproval',
    waiting: [wait('Approval')],
    run: { ...run, stage: 'canary' },
  };
  const { specHash } = planOf(asking);
  assert.deepEqual(viewOf(asking).approval, {
    run: '1',
    revision: 'r1',
    specHash,
    stage: 'canary',
  });
  assert.deepEqual(approvalOf(planOf({ ...asking, run })), { run: '1', revision: 'r1', specHash });
  assert.equal(approvalOf(planOf({ ...asking, waiting: [wait('Window')] })), undefined);
  assert.equal(approvalOf(planOf(asking, {}, 2)), undefined, 'the plan has been changed since');
  assert.equal(approvalOf({ ...planOf(asking), deleting: true }), undefined);
  assert.equal(approvalOf(planOf({ waiting: [wait('Approval')] })), undefined);
});

test('when it began, its deadline, and what has been foretold of this run and no other', () => {
  const forecast = {
    rehearsalTime: time,
    snapshotTime: time,
    runID: '1',
    specHash: 'abc',
    finishes: true,
    estimatedCompletionTime: '2026-05-01T11:00:00Z',
    latestCompletionTime: '2026-05-01T11:30:00Z',
    firstEstimatedCompletionTime: '2026-05-01T10:50:00Z',
    nodes: 9,
    windows: 1,
    podsMoved: 40,
    podsMovedAgain: 2,
    blockedNodes: 12,
    blocked: Array.from({ length: 10 }, (_, number) => ({
      node: `w${number}`,
      message: 'its budget',
    })),
    lowest: [{ workload: 'shop/web', ready: 1, replicas: 4 }],
  };
  const pace = { deadline: '2026-05-01T12:00:00Z' };
  const history = [{ at: time, done: 0 }];
  const view = planView(planOf({ run: { ...run, startTime: time }, forecast }, { pace }), history);
  assert.deepEqual(
    [view.startedAt, view.deadline, view.history],
    [time, '2026-05-01T12:00:00Z', history],
  );
  assert.deepEqual(view.forecast, {
    rehearsedAt: time,
    finishes: true,
    end: '2026-05-01T11:00:00Z',
    latestEnd: '2026-05-01T11:30:00Z',
    firstEnd: '2026-05-01T10:50:00Z',
    windows: 1,
    podsMoved: 40,
    podsMovedAgain: 2,
    blockedNodes: 12,
    blocked: forecast.blocked.slice(0, 5),
    lowest: forecast.lowest,
  });
  assert.equal(
    viewOf({ run: { ...run, id: '2' }, forecast }).forecast,
    undefined,
    'it is about an earlier run',
  );
  assert.equal(
    viewOf({ forecast }).forecast?.end,
    '2026-05-01T11:00:00Z',
    'before the run has begun',
  );
});
