import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decidePlan } from '../../core/plan/decide.ts';
import { nodesOf } from '../../core/testing/decided.ts';
import { at } from '../../core/testing/make.ts';
import { makePlanSnapshot } from '../../core/testing/make-plan.ts';
import type { MaintenancePlanSpec } from '../schema/maintenance-plan.ts';
import type { MaintenancePlanStatus } from '../schema/maintenance-plan-status.ts';
import { readMaintenanceApproval, readMaintenancePlan } from './maintenance-plan.ts';
import { maintenancePlanStatus } from './status.ts';

/** How a plan is read, and what of its forecast is written. */

const metadata = { name: 'kernel', uid: 'uid-kernel', resourceVersion: '7', finalizers: ['drydock.dev/maintenance-plan'] };
const planOf = (spec: Partial<MaintenancePlanSpec> = {}, status: MaintenancePlanStatus = {}) =>
  readMaintenancePlan({ metadata, spec: { nodeSelector: {}, work: { none: {} }, controlPlane: 'AsSelected', ...spec }, status });

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
  const { order, first, concurrency, pace, needsApproval, approvalExpiresAfter, windows, expectedSeconds, revision } = edited;
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
  const [plan, undone] = [planOf(forward), planOf({ ...forward, undo: true })];
  assert.deepEqual(
    [plan.work.kind, plan.undo, plan.rebooted, plan.provenWithinSeconds, plan.prepare === undefined],
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
  const own = planOf({ ...forward, undo: true, rollback: { due: { expression: 'true' }, done: { withinSeconds: 5 }, work: { none: {} } } });
  assert.deepEqual([own.expressions.due, own.provenWithinSeconds], ['true', 5]);
  const { rollback: _rollback, ...none } = forward;
  assert.equal(planOf({ ...none, undo: true }).work.kind, 'reboot', 'the API server refuses it; nothing else is carried out');
});

test('an approval is read with its time, and with what it promotes', () => {
  const spec = { planName: 'kernel', runID: '1', revision: 'r', stage: 'canary', promote: 'Stage' };
  const read = readMaintenanceApproval({ metadata: { ...metadata, creationTimestamp: '2026-11-21T08:00:00Z' }, spec });
  assert.deepEqual([read.createdAt.toString(), read.stage, read.promote], ['2026-11-21T08:00:00Z', 'canary', 'Stage']);
});

/** What is written at so many seconds, over what is stored. */
const statusAt = (seconds: number, spec: Partial<MaintenancePlanSpec>, stored: MaintenancePlanStatus = {}): MaintenancePlanStatus => {
  const plan = planOf({ expectedSeconds: 3600, ...spec }, stored);
  const decision = decidePlan(makePlanSnapshot({ plan, nodes: nodesOf(3) }), at(seconds));
  return maintenancePlanStatus(decision, plan, at(seconds));
};

test('the expected end is told in whole minutes, stays while it is near enough, and only while the plan goes on', () => {
  const first = statusAt(20, {}).expectedEndTime;
  assert.equal(first, '2026-11-21T11:01:00Z');
  const stored = { expectedEndTime: first };
  assert.equal(statusAt(500, {}, stored).expectedEndTime, first, 'a twentieth of three hours is nine minutes');
  assert.equal(statusAt(700, {}, stored).expectedEndTime, '2026-11-21T11:12:00Z');
  assert.equal(statusAt(20, { paused: true }, stored).expectedEndTime, undefined);
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
