import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import { machineAdapter } from '@drydock/apis';
import type { Api, ApiCall, ApiResponse, Watcher } from '@drydock/kube-client';
import { VirtualClock } from '@drydock/utils';
import { approve, readApproval } from '../actions/actions.ts';
import { dashboardHarness } from '../testing/dashboard-harness.ts';
import { type DashboardHarness, place } from '../testing/place.ts';

const mm = 'machinemaintenances.machinemaintenance.managed.openshift.io';
const windows = 'maintenancewindows.drydock.dev';
const key = 'drydock-system/mm-w1';
const path =
  '/apis/machinemaintenance.managed.openshift.io/v1alpha1/namespaces/drydock-system/machinemaintenances/mm-w1';

function event(over: JsonObject = {}): JsonObject {
  return {
    provider: 'aws',
    id: 'event-1',
    kind: 'retirement',
    state: 'Scheduled',
    deadline: '2026-01-10T00:00:00Z',
    description: 'degraded hardware',
    source: 'cloud',
    ...over,
  };
}

function maintenance(events: readonly JsonObject[]): JsonObject {
  return {
    metadata: { name: 'mm-w1', namespace: 'drydock-system' },
    spec: {
      maintenancescheduled: false,
      machineid: 'i-1',
      machinelink: 'w1',
      nodeName: 'w1',
      events: [...events],
    },
  };
}

async function observingMachines(
  at: DashboardHarness,
  clock: VirtualClock,
  watcher: Watcher = at.ports,
) {
  const { observer, deltas, end } = await dashboardHarness(at, clock, {
    watcher,
    machines: machineAdapter,
  });
  const patch = async (body: JsonObject, part = '/status'): Promise<void> => {
    const answer = await at.ports.call({
      method: 'PATCH',
      path: path + part,
      contentType: 'application/merge-patch+json',
      body,
    });
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    await clock.advance(200);
  };
  return { observer, deltas, end, patch };
}

function furnished(clock: VirtualClock): DashboardHarness {
  const at = place(clock, ['maintenance', 'machineMaintenance', 'window']);
  at.make('namespaces', { metadata: { name: 'drydock-system' } });
  return at;
}

test('what is announced about a machine is shown with its phase, what it waits for, and its deadline, until it is over', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, deltas, end, patch } = await observingMachines(at, clock);
  at.make(mm, maintenance([event({ source: 'agent/aws' }), event()]));
  await clock.advance(200);
  assert.deepEqual(observer.scene().machines, [
    {
      key,
      machine: 'w1',
      phase: 'Pending',
      over: false,
      deleting: false,
      message: '',
      since: '2026-01-01T00:00:00Z',
      announced: [
        {
          provider: 'aws',
          kind: 'retirement',
          state: 'Scheduled',
          description: 'degraded hardware',
          at: '2026-01-10T00:00:00Z',
        },
      ],
      node: 'w1',
    },
  ]);
  await patch({
    status: {
      phase: 'Scheduled',
      waitingFor: 'MaintenanceWindow',
      message: 'Begins at night',
      scheduledTime: '2026-01-02T22:00:00Z',
      deadline: '2026-01-10T00:00:00Z',
    },
  });
  const [shown] = observer.scene().machines;
  assert.deepEqual(
    [shown?.phase, shown?.waitingFor, shown?.message, shown?.begins, shown?.deadline],
    [
      'Scheduled',
      'MaintenanceWindow',
      'Begins at night',
      '2026-01-02T22:00:00Z',
      '2026-01-10T00:00:00Z',
    ],
  );
  await patch({ status: { phase: 'Succeeded', waitingFor: null } });
  assert.equal(observer.scene().machines[0]?.over, true);
  at.ports.call({ method: 'DELETE', path }).catch(assert.fail);
  await clock.advance(200);
  assert.deepEqual(observer.scene().machines, []);
  assert.deepEqual(deltas.at(-1)?.gone?.machines, [key]);
  await end();
});

test('a node whose machine has gone and is being replaced stays where it was', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, end, patch } = await observingMachines(at, clock);
  at.make(mm, maintenance([event()]));
  at.make('maintenances.drydock.dev', { metadata: { name: 'w1' }, spec: { nodeName: 'w1' } });
  await clock.advance(200);
  await patch({ status: { phase: 'Replacing' } });
  at.ports.call({ method: 'DELETE', path: '/api/v1/nodes/w1' }).catch(assert.fail);
  await clock.advance(200);
  const node = () => observer.scene().nodes.find(one => one.key === 'w1');
  assert.deepEqual([node()?.missing, node()?.replaced, node()?.zone], [true, true, 'north']);
  await patch({ status: { phase: 'Succeeded' } });
  assert.deepEqual([node()?.missing, node()?.replaced], [true, undefined]);
  await end();
});

test('windows are shown as the operator has last said of them', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, end } = await observingMachines(at, clock);
  const spec = { openings: [{ cron: '0 22 * * *', duration: '6h' }] };
  at.make(windows, { metadata: { name: 'nights' }, spec });
  at.make(windows, { metadata: { name: 'wrong' }, spec: { ...spec, timeZone: 'Nowhere/Atall' } });
  const status = {
    open: false,
    next: { startTime: '2026-01-01T22:00:00Z', endTime: '2026-01-02T04:00:00Z' },
  };
  at.ports
    .call({
      method: 'PATCH',
      path: '/apis/drydock.dev/v1alpha1/maintenancewindows/nights/status',
      contentType: 'application/merge-patch+json',
      body: { status },
    })
    .catch(assert.fail);
  await clock.advance(200);
  const [nights, wrong] = observer.scene().windows;
  assert.deepEqual(nights, { key: 'nights', open: false, until: '2026-01-01T22:00:00Z' });
  assert.match(wrong?.problem ?? '', /Nowhere\/Atall/);
  await end();
});

test('a cluster without these kinds is no trouble; one that does not show them says so, and all else is there', async () => {
  const clock = new VirtualClock();
  const at = place(clock, ['maintenance']);
  const without = await observingMachines(at, clock);
  assert.deepEqual(without.observer.scene().facts, {
    access: 'link',
    cluster: 'test',
    makes: 'Maintenance',
    loading: [],
    unreadable: [],
  });
  await without.end();
  const other = furnished(clock);
  const refusing: Watcher = {
    watch: async (collection, project, sink, signal) => {
      if (!/machinemaintenances|maintenancewindows/.test(collection.path))
        return other.ports.watch(collection, project, sink, signal);
      sink.failing?.({ message: 'forbidden', status: 403, retryInMs: 1000 });
    },
  };
  const refused = await observingMachines(other, clock, refusing);
  const { facts, nodes } = refused.observer.scene();
  assert.deepEqual(
    [facts.loading, facts.unreadable.map(({ what }) => what), nodes.length],
    [[], ['machine maintenances', 'maintenance windows'], 3],
  );
  await refused.end();
});

test('somebody agrees to what waits for that, as it was seen, and to nothing else', async () => {
  const clock = new VirtualClock();
  const at = furnished(clock);
  const { observer, end, patch } = await observingMachines(at, clock);
  at.make(mm, maintenance([event()]));
  await clock.advance(200);
  const request = () => observer.findMachine(key) ?? assert.fail('it is not there');
  assert.equal((await approve(at.ports, request())).status, 409);
  await patch({ status: { phase: 'AwaitingApproval' } });
  const seen = request();
  assert.deepEqual((await approve(at.ports, seen)).body, {
    message: 'the maintenance of machine w1 is approved',
  });
  await clock.advance(200);
  assert.equal(request().approved, true);
  assert.equal((await approve(at.ports, seen)).status, 409, 'it has been changed since');
  await end();
});

test('an approval that the API server refuses is answered in its words', async () => {
  const calls: ApiCall[] = [];
  const answering = (status: number, body: unknown): Api => ({
    call: async (call): Promise<ApiResponse> => {
      calls.push(call);
      return { status, headers: {}, body };
    },
  });
  const read = machineAdapter.readMaintenance({
    ...maintenance([]),
    status: { phase: 'AwaitingApproval' },
  });
  if (typeof read === 'string') assert.fail(read);
  const refused = await approve(answering(403, { kind: 'Status', message: 'not you' }), read);
  assert.deepEqual(refused, { status: 403, body: { message: 'not you' } });
  assert.equal((await approve(answering(404, {}), read)).status, 404);
  assert.equal(calls[0]?.path, path);
  assert.deepEqual(readApproval({ key }), { key });
  for (const raw of [null, {}, { key: '' }, { key: 7 }, 'mm-w1'])
    assert.equal(typeof readApproval(raw), 'string', JSON.stringify(raw));
});
