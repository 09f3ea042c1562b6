import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Answer, quickClock, serving } from '@drydock/utils/testing';
import type { Fetched } from '../signals.ts';
import { plain } from '../testing/plain.ts';
import { awsMetadata } from './aws.ts';

const { signal } = new AbortController();
const instance = 'i-0123456789abcdef0';
const notFound: Answer = {
  status: 404,
  text: '<?xml version="1.0"?><html><body>404 - Not Found</body></html>',
};

/** IMDSv2: every call needs a token that was given out and not taken back. */
async function imds(documents: Readonly<Record<string, string>>) {
  let given = 0;
  const valid = new Set<string>();
  const server = await serving(({ method, path, headers }) => {
    if (path === '/latest/api/token') {
      const seconds = Number(headers['x-aws-ec2-metadata-token-ttl-seconds']);
      if (method !== 'PUT' || !(seconds >= 1 && seconds <= 21_600)) return { status: 400 };
      given += 1;
      valid.add(`token-${given}`);
      return { text: `token-${given}` };
    }
    if (!valid.has(String(headers['x-aws-ec2-metadata-token']))) return { status: 401 };
    const text = { 'instance-id': instance, ...documents }[path.replace('/latest/meta-data/', '')];
    return text === undefined ? notFound : { text };
  });
  const tokens = (): number =>
    server.asked.filter(({ path }) => path === '/latest/api/token').length;
  return {
    ...server,
    tokens,
    revoke: () => valid.clear(),
    [Symbol.asyncDispose]: server[Symbol.asyncDispose],
  };
}

function value<T>({ value, trouble }: Fetched<T>): T {
  assert.ok(value !== undefined, trouble?.message ?? 'nothing was told');
  return value;
}

function event(more: object): object {
  return {
    Code: 'system-reboot',
    Description: 'scheduled reboot',
    State: 'active',
    EventId: 'instance-event-1',
    NotBefore: '21 Jan 2030 09:00:43 GMT',
    NotAfter: '21 Jan 2030 11:00:43 GMT',
    NotBeforeDeadline: '31 Jan 2030 09:00:43 GMT',
    ...more,
  };
}

test('a scheduled event is told with its times, and `active` means scheduled', async () => {
  await using server = await imds({ 'events/maintenance/scheduled': JSON.stringify([event({})]) });
  const reader = awsMetadata({ base: server.base, clock: quickClock(), source: 'agent' });
  assert.deepEqual(value(await reader.scheduled(signal)).map(plain), [
    {
      provider: 'aws',
      id: 'instance-event-1',
      kind: 'reboot',
      code: 'system-reboot',
      instance,
      notBefore: '2030-01-21T09:00:43Z',
      deadline: '2030-01-21T09:00:43Z',
      notAfter: '2030-01-21T11:00:43Z',
      state: 'Scheduled',
      description: 'scheduled reboot',
      source: 'agent',
    },
  ]);
  assert.deepEqual(
    [value(await reader.urgent(signal)), value(await reader.identity(signal))],
    [[], instance],
  );
});

const states = [
  [{ NotBefore: '2030-01-09T00:00:00.000Z' }, 'Active'],
  [{ NotBefore: '9 Jan 2030 00:00:00 GMT' }, 'Active'],
  [{ NotBefore: '2030-01-11T00:00:00Z' }, 'Scheduled'],
  [{ NotBefore: 'some day' }, 'Scheduled'],
  [{ State: 'completed', NotBefore: '9 Jan 2030 00:00:00 GMT' }, 'Completed'],
  [{ State: 'canceled' }, 'Cancelled'],
  [{ Description: '[Canceled] scheduled reboot' }, 'Cancelled'],
] as const;
for (const [more, state] of states) {
  test(`${JSON.stringify(more)} is ${state}`, async () => {
    await using server = await imds({
      'events/maintenance/scheduled': JSON.stringify([event(more)]),
    });
    const events = value(
      await awsMetadata({ base: server.base, clock: quickClock(), source: 'agent' }).scheduled(
        signal,
      ),
    );
    assert.deepEqual(
      events.map(({ state }) => state),
      [state],
    );
  });
}

test('what is over is told from the history, once', async () => {
  const documents = {
    'events/maintenance/scheduled': JSON.stringify([
      event({}),
      event({ EventId: 'instance-event-2' }),
    ]),
    'events/maintenance/history': JSON.stringify([
      event({ State: 'completed' }),
      event({ EventId: 'instance-event-3', State: 'canceled' }),
    ]),
  };
  await using server = await imds(documents);
  const events = value(
    await awsMetadata({ base: server.base, clock: quickClock(), source: 'agent' }).scheduled(
      signal,
    ),
  );
  assert.deepEqual(
    events.map(({ id, state }) => [id.at(-1), state]),
    [
      ['1', 'Completed'],
      ['2', 'Scheduled'],
      ['3', 'Cancelled'],
    ],
  );
});

test('a Spot instance has until the time that is named; the recommendation names none', async () => {
  const documents = {
    'spot/instance-action': '{"action":"terminate","time":"2030-01-10T00:02:00Z"}',
    'events/recommendations/rebalance': '{"noticeTime":"2030-01-09T23:00:00Z"}',
  };
  await using server = await imds(documents);
  const clock = quickClock();
  const reader = awsMetadata({ base: server.base, clock, source: 'agent' });
  const [interruption, rebalance] = value(await reader.urgent(signal)).map(plain);
  assert.deepEqual(
    [
      interruption?.['kind'],
      interruption?.['code'],
      interruption?.['deadline'],
      interruption?.['state'],
    ],
    ['preemption', 'terminate', '2030-01-10T00:02:00Z', 'Scheduled'],
  );
  assert.deepEqual(
    [rebalance?.['kind'], rebalance?.['deadline'], rebalance?.['state']],
    ['rebalance', undefined, 'Scheduled'],
  );
  assert.match(rebalance?.['description'] ?? '', /2030-01-09T23:00:00Z/);
  await clock.sleep(120_000);
  assert.equal(value(await reader.urgent(signal))[0]?.state, 'Active');
});

test('a token serves until four fifths of its six hours are over, and is had anew when it is refused', async () => {
  await using server = await imds({});
  const clock = quickClock();
  const reader = awsMetadata({ base: server.base, clock, source: 'agent' });
  for (let n = 0; n < 3; n += 1) value(await reader.urgent(signal));
  assert.equal(server.tokens(), 1);
  await clock.sleep(21_600_000 * 0.81);
  value(await reader.urgent(signal));
  assert.ok(server.tokens() > 1);
  const before = server.tokens();
  server.revoke();
  value(await reader.scheduled(signal));
  assert.ok(server.tokens() > before);
});

async function faulty(answer: Answer, path = '/latest/api/token') {
  await using server = await serving(asked => {
    if (asked.path === path) return answer;
    return asked.path === '/latest/api/token' ? { text: 'token' } : { text: instance };
  });
  const { trouble, value } = await awsMetadata({
    base: server.base,
    clock: quickClock(),
    source: 'agent',
  }).scheduled(signal);
  assert.equal(value, undefined);
  return trouble;
}

test('what is wrong is said: turned off, an error, no JSON, always refused', async () => {
  assert.match(
    (await faulty({ status: 403 }))?.message ?? '',
    /HTTP 403\. The metadata service of this instance is turned off/,
  );
  assert.match((await faulty({ status: 500, text: 'oops' }))?.message ?? '', /HTTP 500: oops/);
  const scheduled = '/latest/meta-data/events/maintenance/scheduled';
  assert.match(
    (await faulty({ text: '<html>' }, scheduled))?.message ?? '',
    /events\/maintenance\/scheduled.*<html>.*not JSON/,
  );
  assert.match((await faulty({ status: 401 }, scheduled))?.message ?? '', /HTTP 401/);
});

test('nobody answers: the hop limit is named', async () => {
  const server = await imds({});
  await server[Symbol.asyncDispose]();
  const { trouble } = await awsMetadata({
    base: server.base,
    clock: quickClock(),
    source: 'agent',
  }).urgent(signal);
  assert.equal(trouble?.reason, 'Unreachable');
  assert.match(trouble?.message ?? '', /ECONNREFUSED.*HttpPutResponseHopLimit/);
});

/** What AWS documents of `autoscaling/target-lifecycle-state`. */
const targets = {
  InService: undefined,
  Standby: undefined,
  Detached: undefined,
  'Warmed:Running': undefined,
  'Warmed:Stopped': 'stop',
  'Warmed:Hibernated': 'stop',
  Terminated: 'termination',
  'something new': undefined,
} as const;
for (const [target, kind] of Object.entries(targets))
  test(`an instance whose Auto Scaling group has ${target} in store for it: ${kind ?? 'nothing is announced'}`, async () => {
    await using server = await imds({ 'autoscaling/target-lifecycle-state': `${target}\n` });
    const reader = awsMetadata({ base: server.base, clock: quickClock(), source: 'agent' });
    const found = value(await reader.urgent(signal)).map(({ id, kind, state, deadline, code }) => [
      id,
      kind,
      state,
      deadline,
      code,
    ]);
    assert.deepEqual(
      found,
      kind === undefined
        ? []
        : [
            [
              'autoscaling-lifecycle',
              kind,
              'Active',
              undefined,
              `target-lifecycle-state ${target}`,
            ],
          ],
    );
  });
