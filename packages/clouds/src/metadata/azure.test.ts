import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, quickClock, serving } from '@drydock/utils/testing';
import { plain } from '../testing/plain.ts';
import { azureMetadata } from './azure.ts';

const { signal } = new AbortController();
const compute = {
  name: 'pool-vmss_0',
  resourceId: '/subscriptions/s/virtualMachineScaleSets/pool-vmss/virtualMachines/0',
  vmId: 'v',
};
const eventsPath = '/metadata/scheduledevents?api-version=2020-07-01';

function imds(events: unknown, more: Readonly<Record<string, Answer>> = {}) {
  return serving(({ path, headers, method }) => {
    if (headers['metadata'] !== 'true')
      return {
        status: 400,
        text: '{"error":"Bad request. Required metadata header not specified"}',
      };
    const other = more[path];
    if (other !== undefined) return other;
    if (path === '/metadata/instance/compute?api-version=2021-02-01')
      return { text: JSON.stringify(compute) };
    if (path !== eventsPath) return { status: 404 };
    return method === 'POST'
      ? {}
      : { text: JSON.stringify({ DocumentIncarnation: 2, Events: events }) };
  });
}

function event(more: object = {}): object {
  return {
    EventId: 'C7061BAC-AFDC-4513-B24B-AA5F13A16123',
    EventStatus: 'Scheduled',
    EventType: 'Freeze',
    ResourceType: 'VirtualMachine',
    Resources: ['pool-vmss_0', 'pool-vmss_1'],
    NotBefore: 'Mon, 14 Jan 2030 22:26:58 GMT',
    Description: 'Virtual machine is being paused.',
    EventSource: 'Platform',
    DurationInSeconds: 5,
    ...more,
  };
}

async function read(events: unknown) {
  await using server = await imds(events);
  const { value, trouble } = await azureMetadata({
    base: server.base,
    clock: quickClock(),
    source: 'agent',
  }).urgent(signal);
  assert.equal(trouble, undefined);
  return (value ?? []).map(plain);
}

test('an event is told with when it may begin as the deadline', async () => {
  assert.deepEqual(await read([event()]), [
    {
      provider: 'azure',
      id: 'C7061BAC-AFDC-4513-B24B-AA5F13A16123',
      kind: 'freeze',
      code: 'Freeze',
      instance: 'pool-vmss_0',
      resource: compute.resourceId,
      notBefore: '2030-01-14T22:26:58Z',
      deadline: '2030-01-14T22:26:58Z',
      state: 'Scheduled',
      description: 'Virtual machine is being paused. (expected to last 5 s)',
      source: 'agent',
    },
  ]);
});

const kinds = [
  ['Freeze', 'freeze'],
  ['Reboot', 'reboot'],
  ['Redeploy', 'redeploy'],
  ['Preempt', 'preemption'],
  ['Terminate', 'termination'],
  ['Levitate', 'maintenance'],
] as const;
for (const [EventType, kind] of kinds) {
  test(`${EventType} is ${kind}`, async () =>
    assert.equal((await read([event({ EventType })]))[0]?.['kind'], kind));
}

test('what has started is active, whether it still names a time or not', async () => {
  const [started] = await read([
    event({ EventStatus: 'Started', NotBefore: '', DurationInSeconds: -1, EventSource: 'User' }),
  ]);
  assert.deepEqual(
    [started?.['state'], started?.['notBefore'], started?.['deadline'], started?.['description']],
    ['Active', undefined, undefined, 'Virtual machine is being paused., asked for by a user'],
  );
});

test('only what names this machine is told, in whatever letters', async () => {
  const ids = (
    await read([
      event({ EventId: 'mine', Resources: ['POOL-VMSS_0'] }),
      event({ Resources: ['pool-vmss_10'] }),
    ])
  ).map(({ id }) => id);
  assert.deepEqual(ids, ['mine']);
  assert.deepEqual(await read([event({ Resources: undefined }), null, 'x']), []);
  assert.deepEqual(await read([]), []);
});

test('the first answer may take two minutes, the later ones 5 s; the name is asked for once', async () => {
  await using server = await imds([]);
  const clock = quickClock();
  const reader = azureMetadata({ base: server.base, clock, source: 'agent' });
  for (let n = 0; n < 3; n += 1) await reader.urgent(signal);
  assert.deepEqual(clock.limits, [5000, 130_000, 5000, 5000]);
  assert.deepEqual((await reader.scheduled(signal)).value, []);
  assert.equal((await reader.identity(signal)).value, 'pool-vmss_0');
  assert.equal(server.asked.length, 4);
});

test('reading never says that an event may start; acknowledging says just that', async () => {
  await using server = await imds([event()]);
  const reader = azureMetadata({ base: server.base, clock: quickClock(), source: 'agent' });
  await reader.urgent(signal);
  assert.ok(server.asked.every(({ method }) => method === 'GET'));
  assert.equal(await reader.acknowledge('C7061BAC', signal), undefined);
  const { method, path, body } = server.asked.at(-1)!;
  assert.deepEqual(
    [method, path, JSON.parse(body)],
    ['POST', eventsPath, { StartRequests: [{ EventId: 'C7061BAC' }] }],
  );
});

test('what is wrong is said', async () => {
  const wrong = async (path: string, answer: Answer): Promise<string> => {
    await using server = await imds([], { [path]: answer });
    const { trouble, value } = await azureMetadata({
      base: server.base,
      clock: quickClock(),
      source: 'agent',
    }).urgent(signal);
    assert.equal(value, undefined);
    return trouble?.message ?? '';
  };
  assert.match(
    await wrong(eventsPath, { status: 429, text: 'Too many requests' }),
    /HTTP 429: Too many requests/,
  );
  assert.match(await wrong(eventsPath, { text: 'nonsense' }), /not JSON/);
  assert.match(await wrong(eventsPath, { text: '{}' }), /no list of events/);
  assert.match(
    await wrong('/metadata/instance/compute?api-version=2021-02-01', { text: '{}' }),
    /no name/,
  );
  await using server = await imds([], { [eventsPath]: { status: 400 } });
  const refused = await azureMetadata({
    base: server.base,
    clock: quickClock(),
    source: 'agent',
  }).acknowledge('x', signal);
  assert.equal(refused?.reason, 'Failed');
});
