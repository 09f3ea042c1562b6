import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { planAdapter } from '@drydock/apis';
import type { Watcher } from '@drydock/kube-client';
import { VirtualClock } from '@drydock/utils';
import { applyPlanAction, approvePlan } from '../actions/actions.ts';
import { dashboardHarness } from '../testing/dashboard-harness.ts';
import { type DashboardHarness, place } from '../testing/place.ts';

const plans = 'maintenanceplans.drydock.dev';
const path = '/apis/drydock.dev/v1alpha1/maintenanceplans/kernel';
const approvals = '/apis/drydock.dev/v1alpha1/maintenanceapprovals';

function observingPlans(at: DashboardHarness, clock: VirtualClock, watcher: Watcher = at.ports) {
  return dashboardHarness(at, clock, { watcher, plans: planAdapter });
}

function furnished(clock: VirtualClock): DashboardHarness {
  const at = place(clock, ['maintenance', 'plan', 'planApproval']);
  at.make(plans, {
    metadata: { name: 'kernel' },
    spec: { nodeSelector: {}, work: { none: {} }, stages: [{ name: 'canary', limit: 1 }] },
  });
  return at;
}

/** The operator reports. */
async function report(
  at: DashboardHarness,
  clock: VirtualClock,
  status: JsonObject,
): Promise<void> {
  const body = { status };
  const answer = await at.ports.call({
    method: 'PATCH',
    path: `${path}/status`,
    contentType: 'application/merge-patch+json',
    body,
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  await clock.advance(200);
}

async function specNow(at: DashboardHarness): Promise<JsonObject> {
  const { body } = await at.ports.call({ method: 'GET', path });
  return (body as { readonly spec: JsonObject }).spec;
}

test('a plan is shown, follows its status, and goes', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, deltas, end } = await observingPlans(at, clock);
  assert.deepEqual(
    observer.scene().plans.map(({ key, phase }) => [key, phase]),
    [['kernel', 'Pending']],
  );
  await report(at, clock, { phase: 'Running', message: 'on its way' });
  assert.deepEqual(
    deltas.at(-1)?.plans?.map(({ key, phase }) => [key, phase]),
    [['kernel', 'Running']],
  );
  at.ports.call({ method: 'DELETE', path }).catch(assert.fail);
  await clock.advance(200);
  assert.deepEqual([observer.scene().plans, deltas.at(-1)?.gone?.plans], [[], ['kernel']]);
  await end();
});

test('a Maintenance names the plan that it is part of', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, end } = await observingPlans(at, clock);
  const metadata = { name: 'kernel-1', annotations: { 'drydock.dev/maintenance-plan': 'kernel' } };
  at.make('maintenances.drydock.dev', { metadata, spec: { nodeName: 'w1' } });
  await clock.advance(200);
  assert.deepEqual(
    observer.scene().nodes.flatMap(({ key, holds }) => holds.map(({ plan }) => [key, plan])),
    [['w1', 'kernel']],
  );
  await end();
});

test('a cluster without plans is no trouble; one that does not show them says so', async () => {
  const clock = new VirtualClock();
  const without = await observingPlans(place(clock), clock);
  assert.deepEqual(without.observer.scene().facts.unreadable, []);
  await without.end();
  const at = furnished(clock);
  const refusing: Watcher = {
    watch: async (collection, project, sink, signal) => {
      if (!collection.path.includes('maintenanceplans'))
        return at.ports.watch(collection, project, sink, signal);
      sink.failing?.({ message: 'forbidden', status: 403, retryInMs: 1000 });
    },
  };
  const refused = await observingPlans(at, clock, refusing);
  const { facts, nodes } = refused.observer.scene();
  assert.deepEqual(
    [facts.loading, facts.unreadable, nodes.length],
    [[], [{ what: 'maintenance plans', message: 'forbidden' }], 3],
  );
  await refused.end();
});

test('the very plan that was seen is paused and resumed, and no successor of its name', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, end } = await observingPlans(at, clock);
  const uid = observer.scene().plans[0]?.uid ?? '';
  const plan = () => observer.findPlan('kernel', uid) ?? assert.fail('it is not there');
  assert.equal(observer.findPlan('kernel', 'another'), undefined);
  const before = await specNow(at);
  assert.deepEqual(await applyPlanAction(at.ports, plan(), 'pause'), {
    status: 200,
    body: { message: 'plan kernel is paused' },
  });
  assert.equal((await specNow(at))['state'], 'Paused');
  await clock.advance(200);
  assert.equal(observer.scene().plans[0]?.paused, true);
  assert.equal((await applyPlanAction(at.ports, plan(), 'resume')).status, 200);
  assert.deepEqual(await specNow(at), before, 'and nothing else of it is changed');
  assert.notEqual(
    (await applyPlanAction(at.ports, { ...plan(), uid: 'another' }, 'pause')).status,
    200,
  );
  assert.equal((await specNow(at))['state'], 'Running');
  await end();
});

test('what it waits for is approved once, under its own name, and goes with the plan', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, end } = await observingPlans(at, clock);
  const run = { id: '1', revision: 'r1', startTime: '2026-01-01T00:00:00Z', stage: 'canary' };
  const waiting = [
    { reason: 'Approval', message: 'somebody has to agree', startTime: '2026-01-01T00:00:00Z' },
  ];
  await report(at, clock, { phase: 'AwaitingApproval', observedGeneration: 1, run, waiting });
  const [view] = observer.scene().plans;
  const plan = observer.findPlan('kernel', view?.uid ?? '') ?? assert.fail('it is not there');
  const approval = view?.approval ?? assert.fail('it asks for nothing');
  assert.equal((await approvePlan(at.ports, plan, { ...approval, stage: 'another' })).status, 409);
  assert.equal((await approvePlan(at.ports, plan, { ...approval, revision: 'r0' })).status, 409);
  for (const _time of ['once', 'twice']) {
    const said = await approvePlan(at.ports, plan, approval);
    assert.deepEqual(said, {
      status: 200,
      body: { message: 'plan kernel: what follows stage canary is approved' },
    });
  }
  const { body } = await at.ports.call({ method: 'GET', path: approvals });
  const { items } = body as {
    readonly items: readonly {
      readonly spec: unknown;
      readonly metadata: { readonly ownerReferences: readonly unknown[] };
    }[];
  };
  assert.deepEqual(
    items.map(({ spec }) => spec),
    [{ planName: 'kernel', runID: '1', revision: 'r1', specHash: plan.specHash, stage: 'canary' }],
  );
  assert.deepEqual(items[0]?.metadata.ownerReferences, [
    { apiVersion: 'drydock.dev/v1alpha1', kind: 'MaintenancePlan', name: 'kernel', uid: plan.uid },
  ]);
  await end();
});
