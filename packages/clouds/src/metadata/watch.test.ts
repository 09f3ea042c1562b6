import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Log, type LogFields, PanicHandler, silentLog } from '@drydock/utils';
import { type Answer, quickClock, type ServedRequest, serving } from '@drydock/utils/testing';
import { type MetadataWatch, type OwnMachineObservation, watchMetadata } from './watch.ts';

const instance = 'i-0123456789abcdef0';

/** EC2's metadata service with what a test wants to change while it is watched. */
async function imds(documents: Record<string, Answer>) {
  const server = await serving(({ path }: ServedRequest) => {
    if (documents['all'] !== undefined) return documents['all'];
    if (path === '/latest/api/token') return { text: 'token' };
    const key = path.replace('/latest/meta-data/', '');
    return key === 'instance-id' ? { text: instance } : (documents[key] ?? { status: 404 });
  });
  return server;
}

/** Watches until `done` says so, of the number of looks so far. Every look ends with a sleep. */
async function watched(
  base: string,
  step: (look: number) => boolean | void,
  more: Partial<MetadataWatch> = {},
): Promise<{
  readonly seen: readonly OwnMachineObservation[];
  readonly slept: readonly number[];
  readonly lines: readonly string[];
}> {
  const stop = new AbortController();
  const clock = quickClock();
  const seen: OwnMachineObservation[] = [];
  const lines: string[] = [];
  const line = (message: string, { reason }: LogFields = {}): void =>
    void lines.push(typeof reason === 'string' ? `${message} ${reason}` : message);
  const log: Log = { debug: line, info: line, warn: line, error: line };
  const looking: typeof clock = {
    ...clock,
    sleep: async (milliseconds, signal) => {
      if (step(clock.slept.length + 1) === true) stop.abort(new Error('enough'));
      await clock.sleep(milliseconds, signal);
    },
  };
  await watchMetadata({
    provider: 'aws',
    base,
    clock: looking,
    signal: stop.signal,
    log,
    defects: new PanicHandler({ log }),
    random: () => 1,
    seen: sighting => void seen.push(sighting),
    ...more,
  });
  return { seen, slept: clock.slept, lines };
}

function spot(time: string): Answer {
  return { text: JSON.stringify({ action: 'terminate', time }) };
}
function words({ instance, looked, events, trouble }: OwnMachineObservation): string {
  return [
    instance,
    `looked ${looked.size}`,
    ...events.map(({ id, state }) => `${id} ${state}`),
    trouble?.reason ?? '',
  ].join(', ');
}

test('the first look is told, and then only what differs', async () => {
  const documents: Record<string, Answer> = {};
  await using server = await imds(documents);
  const { seen, slept } = await watched(server.base, look => {
    if (look === 5) documents['spot/instance-action'] = spot('2030-01-10T00:02:00Z');
    if (look === 10) delete documents['spot/instance-action'];
    return look === 15;
  });
  assert.deepEqual(seen.map(words), [
    `${instance}, looked 1, `,
    `${instance}, looked 1, spot-interruption Scheduled, `,
    `${instance}, looked 1, `,
  ]);
  assert.deepEqual(new Set(slept), new Set([2000]));
  assert.deepEqual([seen[0]?.source, seen[0]?.unknown], ['agent', []]);
});

test('what is planned ahead is asked for every half minute only', async () => {
  await using server = await imds({});
  await watched(server.base, look => look === 31);
  const count = (path: string): number =>
    server.asked.filter(asked => asked.path.endsWith(path)).length;
  assert.deepEqual(
    [count('spot/instance-action'), count('events/maintenance/scheduled'), count('instance-id')],
    [31, 3, 1],
  );
});

test('a service that is away is trouble, told and complained of once, and asked ever less; then all is well again', async () => {
  const documents: Record<string, Answer> = {};
  await using server = await imds(documents);
  const { seen, slept, lines } = await watched(server.base, look => {
    if (look === 2) documents['all'] = { status: 500, text: 'oops' };
    if (look === 9) delete documents['all'];
    return look === 12;
  });
  assert.deepEqual(seen.map(words), [
    `${instance}, looked 1, `,
    `${instance}, looked 0, Failed`,
    `${instance}, looked 1, `,
  ]);
  assert.deepEqual(lines, [
    'failed to read the metadata service Failed',
    'the metadata service responds again',
  ]);
  assert.deepEqual(
    slept,
    [2000, 2000, 2000, 4000, 8000, 15_000, 15_000, 15_000, 15_000, 2000, 2000, 2000],
  );
});

test('a second outage begins with short waits again', async () => {
  const documents: Record<string, Answer> = {};
  await using server = await imds(documents);
  const { slept } = await watched(server.base, look => {
    if (look === 1 || look === 6) documents['all'] = { status: 500 };
    if (look === 4) delete documents['all'];
    return look === 8;
  });
  assert.deepEqual(slept, [2000, 2000, 4000, 8000, 2000, 2000, 2000, 4000]);
});

test('garbage about what is planned ahead does not slow down the look for what leaves only seconds', async () => {
  const documents: Record<string, Answer> = { 'events/maintenance/scheduled': { text: '<html>' } };
  await using server = await imds(documents);
  const { seen, slept } = await watched(server.base, look => {
    if (look === 2) documents['spot/instance-action'] = spot('2030-01-10T00:02:00Z');
    return look === 6;
  });
  assert.deepEqual(seen.map(words), [
    `${instance}, looked 0, Failed`,
    `${instance}, looked 0, spot-interruption Scheduled, Failed`,
  ]);
  assert.deepEqual(new Set(slept), new Set([2000]));
});

test('before the service has said which machine this is, there is no name', async () => {
  const documents: Record<string, Answer> = { all: { status: 503 } };
  await using server = await imds(documents);
  const { seen } = await watched(server.base, look => {
    if (look === 3) delete documents['all'];
    return look === 5;
  });
  assert.deepEqual(seen.map(words), [', looked 0, Failed', `${instance}, looked 1, `]);
});

test('what could not be passed on is passed on again', async () => {
  await using server = await imds({});
  let calls = 0;
  const passed: OwnMachineObservation[] = [];
  const { lines, slept } = await watched(server.base, look => look === 5, {
    seen: async sighting => {
      calls += 1;
      if (calls < 3) throw new Error('no API server');
      passed.push(sighting);
    },
  });
  assert.deepEqual([calls, passed.length], [3, 1]);
  assert.equal(lines.filter(line => line.startsWith('failed to pass on')).length, 2);
  assert.deepEqual(slept, [2000, 4000, 2000, 2000, 2000]);
});

test('it ends with the signal in the middle of a question', async () => {
  const stop = new AbortController();
  await using server = await serving(() => {
    setTimeout(() => stop.abort(new Error('enough')), 20);
    return 'hang';
  });
  await watchMetadata({
    provider: 'azure',
    base: server.base,
    clock: quickClock(),
    signal: stop.signal,
    log: silentLog,
    defects: new PanicHandler({ log: silentLog }),
    seen: () => assert.fail('nothing was seen'),
  });
  assert.equal(server.asked.length, 1);
});

test('each provider is read in its own way', async () => {
  await using google = await serving(({ path }) =>
    path.endsWith('/name') ? { text: 'vm' } : { text: 'NONE' },
  );
  const gcp = await watched(google.base, () => true, { provider: 'gcp', source: 'node-agent' });
  assert.deepEqual([gcp.seen.map(words), gcp.seen[0]?.source], [['vm, looked 1, '], 'node-agent']);
  await using microsoft = await serving(({ path }) => ({
    text: path.includes('compute') ? '{"name":"vm"}' : '{"Events":[]}',
  }));
  assert.deepEqual(
    (await watched(microsoft.base, () => true, { provider: 'azure' })).seen.map(words),
    ['vm, looked 1, '],
  );
});
