import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, quickClock, serving } from '@drydock/utils/testing';
import { plain } from '../testing/plain.ts';
import { gcpMetadata } from './gcp.ts';

const { signal } = new AbortController();

function server(values: Readonly<Record<string, Answer>>) {
  return serving(({ path, headers }) => {
    if (headers['metadata-flavor'] !== 'Google')
      return { status: 403, text: 'Missing Metadata-Flavor:Google header.' };
    const key = path.replace('/computeMetadata/v1/instance/', '');
    const all: Readonly<Record<string, Answer>> = {
      name: { text: 'gke-pool-1' },
      'maintenance-event': { text: 'NONE' },
      preempted: { text: 'FALSE' },
      'scheduling/on-host-maintenance': { text: 'TERMINATE' },
      ...values,
    };
    return all[key] ?? { status: 404, text: '<!DOCTYPE html>' };
  });
}

const upcoming = {
  can_reschedule: 'true',
  latest_window_start_time: '2030-02-01T19:00:01Z',
  maintenance_status: 'PENDING',
  type: 'SCHEDULED',
  window_end_time: '2030-01-20T21:00:01Z',
  window_start_time: '2030-01-20T19:00:01Z',
};
function planned(document: unknown): Readonly<Record<string, Answer>> {
  return {
    'upcoming-maintenance?alt=json': { text: JSON.stringify(document) },
  };
}

const hosts = [
  ['NONE', undefined, undefined],
  ['', undefined, undefined],
  ['MIGRATE_ON_HOST_MAINTENANCE', 'freeze', '2030-01-10T00:01:00Z'],
  ['TERMINATE_ON_HOST_MAINTENANCE', 'termination', '2030-01-10T00:01:00Z'],
  ['SHUTDOWN_ON_HOST_MAINTENANCE', 'maintenance', '2030-01-10T00:01:00Z'],
] as const;
for (const [text, kind, deadline] of hosts) {
  test(`maintenance-event "${text}" is ${kind ?? 'nothing'}`, async () => {
    await using metadata = await server({ 'maintenance-event': { text } });
    const { value = [] } = await gcpMetadata({
      base: metadata.base,
      clock: quickClock(),
      source: 'agent',
    }).urgent(signal);
    assert.deepEqual(
      [value[0]?.kind, value[0]?.deadline?.toString(), value.length],
      [kind, deadline, kind === undefined ? 0 : 1],
    );
  });
}

test('machines with GPUs have the notice that is named for them', async () => {
  await using metadata = await server({
    'maintenance-event': { text: 'TERMINATE_ON_HOST_MAINTENANCE' },
  });
  const access = {
    base: metadata.base,
    clock: quickClock(),
    source: 'agent',
    terminationNoticeSeconds: 3600,
  };
  assert.equal(
    String((await gcpMetadata(access).urgent(signal)).value?.[0]?.deadline),
    '2030-01-10T01:00:00Z',
  );
});

test('a preempted machine has 30 s from when it was first seen, and not more from look to look', async () => {
  let text = 'FALSE';
  await using metadata = await serving(({ path }) => {
    if (path.endsWith('/preempted')) return { text };
    return path.endsWith('/name') ? { text: 'gke-pool-1' } : { text: 'NONE' };
  });
  const clock = quickClock();
  const reader = gcpMetadata({ base: metadata.base, clock, source: 'agent' });
  const look = async () => (await reader.urgent(signal)).value?.map(plain);
  assert.deepEqual(await look(), []);
  await clock.sleep(10_000);
  text = 'TRUE';
  const first = await look();
  assert.deepEqual(
    first?.map(({ id, kind, state, instance, deadline }) => [id, kind, state, instance, deadline]),
    [['preempted', 'preemption', 'Active', 'gke-pool-1', '2030-01-10T00:00:40Z']],
  );
  await clock.sleep(2000);
  assert.deepEqual(await look(), first);
});

test('what is planned ahead is told with its window', async () => {
  await using metadata = await server(planned(upcoming));
  const { value = [] } = await gcpMetadata({
    base: metadata.base,
    clock: quickClock(),
    source: 'agent',
  }).scheduled(signal);
  assert.deepEqual(value.map(plain), [
    {
      provider: 'gcp',
      id: 'upcoming-maintenance',
      kind: 'termination',
      code: 'SCHEDULED',
      instance: 'gke-pool-1',
      notBefore: '2030-01-20T19:00:01Z',
      deadline: '2030-01-20T19:00:01Z',
      notAfter: '2030-01-20T21:00:01Z',
      state: 'Scheduled',
      description:
        'Host maintenance; it can be started earlier, or moved until 2030-02-01T19:00:01Z',
      source: 'agent',
    },
  ]);
});

const documents: readonly (readonly [
  string,
  Readonly<Record<string, Answer>>,
  readonly string[] | undefined,
])[] = [
  [
    'a machine that migrates',
    { ...planned(upcoming), 'scheduling/on-host-maintenance': { text: 'MIGRATE' } },
    ['maintenance', 'Scheduled'],
  ],
  ['under way', planned({ ...upcoming, maintenance_status: 'ONGOING' }), ['termination', 'Active']],
  ['over', planned({ ...upcoming, maintenance_status: 'COMPLETE' }), ['termination', 'Completed']],
  ['under a title', planned({ 'Upcoming maintenance': upcoming }), ['termination', 'Scheduled']],
  [
    'in the other spelling',
    planned({ windowStartTime: '2030-01-20T19:00:01Z', maintenanceStatus: 'ONGOING' }),
    ['termination', 'Active'],
  ],
  ['an empty document', planned({}), undefined],
  ['"NONE"', planned('NONE'), undefined],
  ['NONE', { 'upcoming-maintenance?alt=json': { text: 'NONE' } }, undefined],
  [
    'an error',
    planned({ error: 'no notifications have been received yet, try again later' }),
    undefined,
  ],
  ['404', {}, undefined],
  ['503', { 'upcoming-maintenance?alt=json': { status: 503 } }, undefined],
];
for (const [what, values, wanted] of documents) {
  test(`upcoming-maintenance: ${what} is ${wanted?.join(', ') ?? 'nothing'}`, async () => {
    await using metadata = await server(values);
    const { value, trouble } = await gcpMetadata({
      base: metadata.base,
      clock: quickClock(),
      source: 'agent',
    }).scheduled(signal);
    assert.equal(trouble, undefined);
    assert.deepEqual(
      value?.map(({ kind, state }) => [kind, state]),
      wanted === undefined ? [] : [wanted],
    );
  });
}

test('a 503 about what was announced before is doubted once', async () => {
  let away = false;
  await using metadata = await serving(({ path }) => {
    if (path.includes('upcoming'))
      return away ? { status: 503 } : { text: JSON.stringify(upcoming) };
    return { text: 'x' };
  });
  const reader = gcpMetadata({ base: metadata.base, clock: quickClock(), source: 'agent' });
  assert.equal((await reader.scheduled(signal)).value?.length, 1);
  away = true;
  assert.equal((await reader.scheduled(signal)).trouble?.reason, 'Failed');
  assert.deepEqual((await reader.scheduled(signal)).value, []);
});

test('what is wrong is said', async () => {
  await using failing = await server({ 'maintenance-event': { status: 500, text: 'oops' } });
  const { trouble } = await gcpMetadata({
    base: failing.base,
    clock: quickClock(),
    source: 'agent',
  }).urgent(signal);
  assert.match(trouble?.message ?? '', /maintenance-event with HTTP 500: oops/);
  await using nameless = await server({ name: { status: 404 } });
  const nobody = await gcpMetadata({
    base: nameless.base,
    clock: quickClock(),
    source: 'agent',
  }).urgent(signal);
  assert.match(nobody.trouble?.message ?? '', /is this a Compute Engine VM/);
  await using garbage = await server({ 'upcoming-maintenance?alt=json': { text: '{' } });
  assert.match(
    (await gcpMetadata({ base: garbage.base, clock: quickClock(), source: 'x' }).scheduled(signal))
      .trouble?.message ?? '',
    /not JSON/,
  );
});

test('an answer without end is not read to its end', async () => {
  await using endless = await server({ name: { text: 'x'.repeat(2 << 20) } });
  const { trouble } = await gcpMetadata({
    base: endless.base,
    clock: quickClock(),
    source: 'agent',
  }).identity(signal);
  assert.equal(trouble?.reason, 'Failed');
  assert.match(trouble?.message ?? '', /longer than 1048576 bytes/);
});
