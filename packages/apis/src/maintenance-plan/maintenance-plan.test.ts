import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanSnapshot } from '@drydock/core/plan';
import { decidePlan } from '@drydock/core/plan';
import { at, makeInFlight, makePlanSnapshot, makeVerdict, nodesOf } from '@drydock/core/testing';
import type { MaintenancePlanSpec } from '../schema/maintenance-plan.ts';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';
import { readMaintenanceApproval, readMaintenancePlan } from './maintenance-plan.ts';
import { maintenancePlanStatus } from './status.ts';

/** How a plan is read, and what of its forecast is written. */

const metadata = {
  name: 'kernel',
  uid: 'uid-kernel',
  resourceVersion: '7',
  finalizers: ['drydock.dev/maintenance-plan'],
};
function planOf(spec: Partial<MaintenancePlanSpec> = {}, status: MaintenancePlanStatus = {}) {
  return readMaintenancePlan({
    metadata,
    spec: { nodeSelector: {}, work: { none: {} }, controlPlane: 'AsSelected', ...spec },
    status,
  });
}

test('when nodes begin is read from the spec, and an edit of it begins no other run', () => {
  const deadline = '2026-11-22T08:00:00Z';
  const edited = planOf({
    order: { by: ['Name'], first: ['n3'] },
    concurrency: { maxUnavailable: '10%', maxUnavailableAbsolute: 40, startsPerWindow: 60 },
    pace: { deadline, mode: 'Spread' },
    approval: { run: 'Required', expiresAfterSeconds: 86_400 },
    windows: 'Ignore',
    expectedSeconds: 60,
  });
  const {
    order,
    first,
    concurrency,
    pace,
    needsApproval,
    approvalExpiresAfter,
    windows,
    expectedSeconds,
    revision,
  } = edited;
  assert.deepEqual(
    [order, first, needsApproval, approvalExpiresAfter, windows, expectedSeconds],
    [['Name'], ['n3'], true, 86_400, 'Ignore', 60],
  );
  assert.deepEqual(concurrency, {
    maxInFlight: 1,
    foreignCordon: 'Wait',
    perTopology: [],
    maxUnavailable: '10%',
    maxUnavailableAbsolute: 40,
    startsPerWindow: 60,
  });
  assert.deepEqual([pace?.deadline.toString(), pace?.mode], [deadline, 'Spread']);
  assert.equal(revision, planOf().revision);
  assert.notEqual(revision, planOf({ due: { expression: 'true' } }).revision);
  assert.equal(planOf({ pace: { deadline } }).pace?.mode, 'AsSoonAsPossible');
  assert.equal(planOf({ pace: { deadline: 'tomorrow' } }).pace, undefined);
});

test('a plan that is undone is read with its rollback in place of what it undoes, as another revision', () => {
  const due = { expression: "node.status.nodeInfo.kernelVersion != '6.12.9'" };
  const forward: Partial<MaintenancePlanSpec> = {
    due,
    done: { withinSeconds: 60 },
    work: { reboot: {} },
    prepare: { job: { podSpec: { containers: [{ name: 'c', image: 'i' }] } } },
    rollback: { work: { none: {} } },
  };
  const [plan, undone] = [planOf(forward), planOf({ ...forward, direction: 'Rollback' })];
  assert.deepEqual(
    [
      plan.work.kind,
      plan.undo,
      plan.rebooted,
      plan.provenWithinSeconds,
      plan.prepare === undefined,
    ],
    ['reboot', undefined, 'Required', 60, false],
  );
  assert.deepEqual(
    [undone.work.kind, undone.undo, undone.rebooted, undone.provenWithinSeconds, undone.prepare],
    ['none', true, 'Optional', 600, undefined],
  );
  assert.equal(undone.expressions.due, "!(node.status.nodeInfo.kernelVersion != '6.12.9'\n)");
  assert.notEqual(plan.revision, undone.revision);
  assert.equal(
    plan.revision,
    planOf({ ...forward, rollback: { due, work: { reboot: {} } } }).revision,
    'a rollback that is not carried out changes nothing',
  );
  const own = planOf({
    ...forward,
    direction: 'Rollback',
    rollback: { due: { expression: 'true' }, done: { withinSeconds: 5 }, work: { none: {} } },
  });
  assert.deepEqual([own.expressions.due, own.provenWithinSeconds], ['true', 5]);
  const { rollback: _rollback, ...none } = forward;
  assert.equal(
    planOf({ ...none, direction: 'Rollback' }).work.kind,
    'reboot',
    'the API server refuses it; nothing else is carried out',
  );
});

test('one more field of the CRD with a default, and a default that is written, begin no other run and void no approval', () => {
  const job = { podSpec: { containers: [{ name: 'c', image: 'i', tty: false }] } };
  const before = planOf({
    work: { job },
    done: { rebooted: 'Required' },
    template: { maintenance: { drain: { vms: { volumes: 'x' } } } },
    stages: [{ name: 'one' }],
  });
  const filled = {
    work: {
      job: { ...job, somethingNew: false, rebootsNode: false, timeoutSeconds: 1800, attempts: 1 },
    },
    done: { rebooted: 'Required', withinSeconds: 600, more: 0 },
    template: { maintenance: { somethingNew: '', drain: { vms: { volumes: 'x' } } } },
    stages: [{ name: 'one', soakSeconds: 0, approveAfter: false, somethingNew: false }],
    direction: 'Forward',
    windows: 'Respect',
    concurrency: { maxInFlight: 1 },
    somethingNew: false,
  } as unknown as Partial<MaintenancePlanSpec>;
  const after = planOf(filled);
  assert.equal(after.revision, before.revision);
  const { concurrency: _none, ...same } = filled;
  assert.equal(planOf(same).specHash, before.specHash);
  const other = (of: object): string => planOf({ ...filled, ...of }).revision;
  assert.equal(
    other({ work: { job: { ...job, somethingNew: 'it is not read' } } }),
    before.revision,
  );
  for (const edit of [
    { work: { job: { ...job, attempts: 2 } } },
    { work: { job: { podSpec: { containers: [{ name: 'c', image: 'i', tty: true }] } } } },
    { done: { rebooted: 'Required', withinSeconds: 601 } },
    { work: { none: {} } },
    { template: { maintenance: { drain: { force: true } } } },
    { direction: 'Rollback' },
  ])
    assert.notEqual(other(edit), before.revision, JSON.stringify(edit));
});

test('a run is stored with its number, by which no other run of the same work is taken for it', () => {
  const run = { id: '1', revision: 'abc-3', number: 3, startTime: '2026-11-21T08:00:00Z' };
  const read = planOf({}, { run }).run;
  assert.deepEqual([read?.revision, read?.number], ['abc', 3]);
  assert.equal(
    planOf({}, { run: { ...run, number: 2 } }).run?.revision,
    'abc-3',
    'it is no suffix of that run',
  );
  const { revision } = planOf();
  const stored = {
    run: {
      ...run,
      revision: `${revision}-3`,
      soak: {
        stage: 'one',
        mark: '1/x',
        lacking: [{ node: 'n1', nodeUID: 'u', startTime: run.startTime }],
      },
    },
  };
  const again = statusAt(0, {}, stored).run;
  assert.deepEqual([again?.revision, again?.number], [`${revision}-3`, 3]);
  assert.deepEqual(planOf({}, stored).run?.soak, {
    stage: 'one',
    mark: '1/x',
    lacking: [{ node: 'n1', uid: 'u', since: Temporal.Instant.from(run.startTime) }],
  });
});

test('what is known of a node in flight is read as it was written', () => {
  const plan = planOf();
  const outcome = {
    verdict: 'Requeued',
    state: 'Holding',
    message: 'Its drain was stuck',
    held: false,
    stuck: true,
  } as const;
  const entries = [
    makeInFlight('n1', { heldAs: 'uid-before', providerId: 'metal://1' }),
    makeInFlight('n2', { outcome }),
  ];
  const decision = { ...decidePlan(makePlanSnapshot({ plan }), at(0)), inFlight: entries };
  const { inFlight = [] } = maintenancePlanStatus(decision, plan, at(0)) as MaintenancePlanStatus;
  assert.deepEqual(planOf({}, { inFlight }).inFlight, entries);
});

test('a plan with failures is complete for another reason than one without', () => {
  const plan = planOf(
    { halt: { maxFailures: 9, consecutive: 0, inFirstStage: 0 } },
    { run: { id: '1', revision: planOf().revision, startTime: at(-4000).toString() } },
  );
  const told = (verdict: 'Done' | 'Failed') => {
    const verdicts = ['n1', 'n2'].map(name => makeVerdict(name, { verdict }));
    const { conditions = [], phase } = maintenancePlanStatus(
      decidePlan(makePlanSnapshot({ plan, nodes: nodesOf(2), verdicts }), at(0)),
      plan,
      at(0),
    ) as MaintenancePlanStatus;
    const found = conditions.find(({ type }) => type === 'Complete');
    return [phase, found?.status, found?.reason, found?.message];
  };
  assert.deepEqual(told('Done'), [
    'Complete',
    'True',
    'Complete',
    '2 done, 0 failed, 0 due of 2 nodes',
  ]);
  assert.deepEqual(told('Failed'), [
    'Complete',
    'True',
    'CompleteWithFailures',
    '0 done, 2 failed, 0 due of 2 nodes',
  ]);
});

test('an approval is read with its time, and with what it promotes', () => {
  const spec = { planName: 'kernel', runID: '1', revision: 'r', stage: 'canary', promote: 'Stage' };
  const read = readMaintenanceApproval({
    metadata: { ...metadata, creationTimestamp: '2026-11-21T08:00:00Z' },
    spec,
  });
  assert.deepEqual(
    [read.createdAt.toString(), read.stage, read.promote],
    ['2026-11-21T08:00:00Z', 'canary', 'Stage'],
  );
});

/** What is written at so many seconds, over what is stored. */
function statusAt(
  seconds: number,
  spec: Partial<MaintenancePlanSpec>,
  stored: MaintenancePlanStatus = {},
): MaintenancePlanStatus {
  const plan = planOf({ expectedSeconds: 3600, ...spec }, stored);
  const decision = decidePlan(makePlanSnapshot({ plan, nodes: nodesOf(3) }), at(seconds));
  return maintenancePlanStatus(decision, plan, at(seconds));
}

test('the expected end is told in whole minutes, stays while it is near enough, and only while the plan goes on', () => {
  const first = statusAt(20, {}).estimatedCompletionTime;
  assert.equal(first, '2026-11-21T11:01:00Z');
  const stored = { estimatedCompletionTime: first };
  assert.equal(
    statusAt(500, {}, stored).estimatedCompletionTime,
    first,
    'a twentieth of three hours is nine minutes',
  );
  assert.equal(statusAt(700, {}, stored).estimatedCompletionTime, '2026-11-21T11:12:00Z');
  assert.equal(statusAt(20, { state: 'Paused' }, stored).estimatedCompletionTime, undefined);
});

test('a plan whose work another one undoes has a condition that names it', () => {
  const run = {
    id: '1',
    revision: planOf({ due: { expression: 'true' } }).revision,
    startTime: '2026-11-21T07:00:00Z',
  };
  const plan = planOf({ due: { expression: 'true' } }, { run });
  const told = (doneSince: PlanSnapshot['doneSince']) => {
    const snapshot = makePlanSnapshot({
      plan,
      nodes: nodesOf(2, { done: false }),
      verdicts: [makeVerdict('n1'), makeVerdict('n2')],
      doneSince,
    });
    const { conditions = [] } = maintenancePlanStatus(
      decidePlan(snapshot, at(0)),
      plan,
      at(0),
    ) as MaintenancePlanStatus;
    const found = conditions.find(({ type }) => type === 'Contested');
    return [found?.status, found?.message];
  };
  assert.deepEqual(told(new Map()), [undefined, undefined]);
  assert.deepEqual(told(new Map([['uid-n2', 'red']])), [
    'True',
    '1 nodes that were done are due again, and plan red was done with them since (n2): if the plans have opposite aims, change one of them, or drydock plan skip kernel leaves the nodes out',
  ]);
});

test('a deadline is a condition: in time, missed, or none', () => {
  const predicted = (seconds: number): readonly (string | undefined)[] => {
    const { conditions = [] } = statusAt(0, { pace: { deadline: at(seconds).toString() } });
    const found = conditions.find(({ type }) => type === 'Predicted');
    return [found?.status, found?.reason, found?.message.split(' ', 1)[0]];
  };
  assert.deepEqual(predicted(3 * 3600), ['True', 'OnTime', '3']);
  assert.deepEqual(predicted(3 * 3600 - 1), ['False', 'MissesDeadline', '3']);
  assert.equal(
    statusAt(0, {}).conditions?.find(({ type }) => type === 'Predicted'),
    undefined,
  );
});
