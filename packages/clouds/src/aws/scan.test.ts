import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MachineEvent, SourceObservation } from '@drydock/core/machine';
import type { Clock } from '@drydock/utils';
import fc from 'fast-check';
import { type Account, type Fault, fakeEc2 } from '../testing/ec2.ts';
import type { Ec2, Ec2Event } from './client.ts';
import { scanEc2 } from './scan.ts';

const now = Temporal.Instant.from('2030-01-10T00:00:00Z');
const { signal } = new AbortController();

/** Nobody waits here; how long they would have is remembered. */
function patient(): Clock & { readonly slept: number[] } {
  const slept: number[] = [];
  return {
    slept,
    now: () => now,
    sleep: async milliseconds => void slept.push(milliseconds),
    after: () => () => {},
  };
}

function id(n: number): string {
  return `i-${n.toString(16).padStart(17, '0')}`;
}
function event(n: number, more: Ec2Event = {}): Ec2Event {
  return {
    InstanceEventId: `instance-event-${n}`,
    Code: 'instance-stop',
    Description: 'The instance is running on degraded hardware',
    NotBefore: new Date('2030-02-01T00:00:00Z'),
    ...more,
  };
}

function scan(
  client: Ec2,
  instances: readonly string[],
  clock: Clock = patient(),
): Promise<SourceObservation> {
  return scanEc2({ instances, client, source: 'aws', clock, random: () => 0.5, signal });
}

function account(ids: readonly string[], more: Partial<Account> = {}): Account {
  return {
    instances: new Map(ids.map(id => [id, undefined])),
    ...more,
  };
}

async function one(given: Ec2Event): Promise<MachineEvent> {
  const { events } = await scan(fakeEc2({ instances: new Map([[id(1), [given]]]) }), [id(1)]);
  assert.equal(events.length, 1);
  return events[0]!;
}

test('an event is told with its id, its code, its times and when the machine has to be empty', async () => {
  const notBefore = Temporal.Instant.from('2030-02-01T00:00:00Z');
  const value = await one(
    event(1, {
      NotAfter: new Date('2030-02-01T02:00:00Z'),
      NotBeforeDeadline: new Date('2030-03-01T00:00:00Z'),
    }),
  );
  assert.deepEqual(
    {
      ...value,
      notBefore: String(value.notBefore),
      notAfter: String(value.notAfter),
      deadline: String(value.deadline),
    },
    {
      provider: 'aws',
      id: 'instance-event-1',
      kind: 'stop',
      code: 'instance-stop',
      instance: id(1),
      notBefore: String(notBefore),
      notAfter: '2030-02-01T02:00:00Z',
      deadline: String(notBefore),
      state: 'Scheduled',
      description: 'The instance is running on degraded hardware',
      source: 'aws',
    },
  );
});

const kinds = [
  ['instance-reboot', 'reboot'],
  ['system-reboot', 'reboot'],
  ['system-maintenance', 'maintenance'],
  ['instance-retirement', 'retirement'],
  ['instance-stop', 'stop'],
  ['instance-levitation', 'maintenance'],
] as const;
for (const [Code, kind] of kinds) {
  test(`${Code} is ${kind}`, async () => assert.equal((await one(event(1, { Code }))).kind, kind));
}

const past = new Date('2030-01-09T00:00:00Z');
const states: readonly (readonly [Ec2Event, MachineEvent['state'], string | undefined])[] = [
  [{ Description: 'x' }, 'Scheduled', 'x'],
  [{ Description: 'x', NotBefore: past }, 'Active', 'x'],
  [{ Description: 'x', NotBefore: new Date(now.epochMilliseconds) }, 'Active', 'x'],
  [{ Description: 'x', NotBefore: undefined }, 'Scheduled', 'x'],
  [{ Description: '[Completed] x', NotBefore: past }, 'Completed', 'x'],
  [{ Description: '[completed]x' }, 'Completed', 'x'],
  [{ Description: '[Canceled] x' }, 'Cancelled', 'x'],
  [{ Description: '[Cancelled] x', NotBefore: past }, 'Cancelled', 'x'],
  [{ Description: ' [CANCELED]  x' }, 'Cancelled', 'x'],
  [{ Description: '[Completed]' }, 'Completed', undefined],
  [{ Description: 'will be [Completed] soon' }, 'Scheduled', 'will be [Completed] soon'],
  [{ Description: undefined }, 'Scheduled', undefined],
];
for (const [given, state, description] of states) {
  test(`"${given.Description}" not before ${given.NotBefore?.toISOString() ?? 'the time that is usual'} is ${state}`, async () => {
    const value = await one(event(1, given));
    assert.deepEqual([value.state, value.description], [state, description]);
  });
}

test('an event without an id is called by its code, whatever its description and time', async () => {
  const nameless = { InstanceEventId: undefined };
  const variants = [
    {},
    { Description: '[Completed] y' },
    { NotBefore: past },
    { NotBefore: undefined },
  ];
  const ids = await Promise.all(
    variants.map(async more => (await one(event(1, { ...nameless, ...more }))).id),
  );
  assert.deepEqual(new Set(ids), new Set(['instance-stop']));
  assert.equal((await one({})).id, 'unknown');
});

test('of several events without an id and with the same code, the earlier is the first in whatever order they come', async () => {
  const [early, late] = [
    event(1, { InstanceEventId: undefined, NotBefore: past }),
    event(2, { InstanceEventId: undefined }),
  ];
  for (const events of [
    [early, late],
    [late, early],
  ]) {
    const value = (await scan(fakeEc2({ instances: new Map([[id(1), events]]) }), [id(1)])).events;
    assert.deepEqual(
      value.map(({ id, state }) => [id, state]),
      [
        ['instance-stop', 'Active'],
        ['instance-stop-2', 'Scheduled'],
      ],
    );
  }
});

test('all events of an instance are told; none, an empty list and no list at all are nothing', async () => {
  const instances = new Map([
    [id(1), [event(2), event(1)]],
    [id(2), []],
    [id(3), undefined],
  ]);
  const { events, looked, unknown, trouble } = await scan(fakeEc2({ instances }), [
    id(3),
    id(2),
    id(1),
  ]);
  assert.deepEqual(
    events.map(({ id }) => id),
    ['instance-event-1', 'instance-event-2'],
  );
  assert.deepEqual([[...looked].sort(), unknown, trouble], [[id(1), id(2), id(3)], [], undefined]);
});

test('nothing is asked about nothing, nor about what cannot be an instance', async () => {
  const client = fakeEc2(account([]));
  const sighting = await scan(client, [
    'nonsense',
    '',
    'i-123',
    'i-0123456789ABCDEF0',
    'aws:///us-east-1a/i-1',
  ]);
  assert.deepEqual(
    [client.calls, sighting.looked.size, sighting.unknown.length, sighting.trouble],
    [[], 0, 5, undefined],
  );
  assert.deepEqual((await scan(client, [])).unknown, []);
});

const ids500 = Array.from({ length: 500 }, (_, n) => id(n));

test('500 machines with 60 events take 5 calls, and with an unknown one in every batch 10', async () => {
  const instances = new Map(ids500.map((id, n) => [id, n < 60 ? [event(n)] : undefined]));
  const client = fakeEc2({ instances });
  const { events, looked } = await scan(client, ids500);
  assert.deepEqual([client.calls.length, events.length, looked.size], [5, 60, 500]);
  const bad = [7, 107, 207, 307, 407].map(id);
  for (const id of bad) instances.delete(id);
  const second = fakeEc2({ instances });
  const sighting = await scan(second, [...ids500, 'nonsense']);
  assert.deepEqual(
    [second.calls.length, sighting.events.length, sighting.looked.size],
    [10, 59, 495],
  );
  assert.deepEqual([sighting.unknown, sighting.trouble], [[...bad, 'nonsense'], undefined]);
  assert.ok(second.calls.every(ids => ids.length <= 100));
});

test('a refusal that names nobody is searched by halves', async () => {
  const client = fakeEc2(account(ids500.slice(1, 100), { names: 'none' }));
  const { looked, unknown } = await scan(client, ids500.slice(0, 100));
  assert.deepEqual([looked.size, unknown, client.calls.length], [99, [id(0)], 13]);
});

const throttle: Fault = {
  status: 503,
  code: 'RequestLimitExceeded',
  message: 'Request limit exceeded.',
};

test('what is throttled is repeated after waits that grow', async () => {
  const clock = patient();
  const client = fakeEc2(account(ids500, { faults: [throttle, throttle, undefined, throttle] }));
  const { looked, trouble } = await scan(client, ids500, clock);
  assert.deepEqual(
    [looked.size, trouble, client.calls.length, clock.slept],
    [500, undefined, 8, [1500, 3000, 1500]],
  );
});

test('what stays throttled is trouble after five calls, and what was seen before counts', async () => {
  const clock = patient();
  const client = fakeEc2(
    account(ids500, {
      faults: [undefined, undefined, ...Array.from({ length: 99 }, () => throttle)],
    }),
  );
  const { looked, trouble, unknown } = await scan(client, ids500, clock);
  assert.deepEqual(
    [looked.size, trouble?.reason, unknown, client.calls.length],
    [200, 'Throttled', [], 7],
  );
  assert.deepEqual(clock.slept, [1500, 3000, 6000, 12_000]);
});

test('a failure of EC2 itself costs only its batch; refused credentials end the scan', async () => {
  const failing = fakeEc2(
    account(ids500, {
      faults: [{ status: 500, code: 'InternalError', message: 'An internal error has occurred' }],
    }),
  );
  const some = await scan(failing, ids500);
  assert.deepEqual(
    [some.looked.size, some.trouble?.reason, failing.calls.length],
    [400, 'Failed', 5],
  );
  const refusing = fakeEc2(
    account(ids500, { faults: [undefined, { status: 401, code: 'AuthFailure', message: 'no' }] }),
  );
  const few = await scan(refusing, ids500);
  assert.deepEqual(
    [few.looked.size, few.trouble?.reason, refusing.calls.length],
    [100, 'CredentialsRefused', 2],
  );
});

test('of several troubles the one that ended the scan is told, else the first', async () => {
  const internal = (message: string): Fault => ({ status: 500, code: 'InternalError', message });
  const refused: Fault = { status: 401, code: 'AuthFailure', message: 'no' };
  const ended = await scan(
    fakeEc2(account(ids500, { faults: [internal('one'), refused] })),
    ids500,
  );
  assert.deepEqual([ended.looked.size, ended.trouble?.reason], [0, 'CredentialsRefused']);
  const failed = await scan(
    fakeEc2(account(ids500, { faults: [internal('one'), internal('two')] })),
    ids500,
  );
  assert.match(failed.trouble?.message ?? '', /InternalError: one/);
});

test('a scan that is stopped rejects with the reason, in a call and in a wait', async () => {
  const reason = new Error('enough');
  const stop = new AbortController();
  const client = fakeEc2(account(ids500, { faults: [throttle] }));
  const clock: Clock = { ...patient(), sleep: async () => stop.abort(reason) };
  await assert.rejects(
    scanEc2({ instances: ids500, client, source: 'aws', clock, signal: stop.signal }),
    reason,
  );
  assert.equal(client.calls.length, 1);
});

type FakeInstances = {
  readonly known: readonly number[];
  readonly gone: readonly number[];
  readonly bad: readonly string[];
};
const faults: readonly (Fault | undefined)[] = [
  undefined,
  undefined,
  throttle,
  {
    status: 403,
    code: 'UnauthorizedOperation',
    message: 'You are not authorized to perform this operation.',
  },
  { status: 500, code: 'InternalError', message: 'An internal error has occurred' },
];
const world = fc.record({
  known: fc.uniqueArray(fc.nat(400), { maxLength: 250, size: 'max' }),
  gone: fc.uniqueArray(fc.integer({ min: 1000, max: 1400 }), { maxLength: 12, size: 'max' }),
  bad: fc.uniqueArray(fc.constantFrom('', 'x', 'i-', 'i-12', 'i-0000000000000000g'), {
    maxLength: 3,
  }),
});
const namings = fc.constantFrom('all', 'one', 'none');
function everybody({ known, gone, bad }: FakeInstances): readonly string[] {
  return [...known.map(id), ...gone.map(id), ...bad];
}
function accountOf({ known }: FakeInstances, more: Partial<Account>): Account {
  return {
    instances: new Map(
      known.map(n => [id(n), n % 3 === 0 ? [event(n), event(n + 10_000)] : undefined]),
    ),
    ...more,
  };
}

test('law: every instance is looked at, unknown, or left out because of trouble, and never two of these', async () => {
  const troubles = fc.array(fc.constantFrom(...faults), { maxLength: 8, size: 'max' });
  await fc.assert(
    fc.asyncProperty(world, namings, troubles, async (given, names, faults) => {
      const client = fakeEc2(accountOf(given, { names, faults: [...faults] }));
      const { looked, unknown, events, trouble } = await scan(client, everybody(given));
      const wanted = new Set(everybody(given));
      const seen = [...looked, ...unknown];
      assert.equal(new Set(seen).size, seen.length);
      assert.ok(seen.every(id => wanted.has(id)));
      if (trouble === undefined) assert.equal(seen.length, wanted.size);
      assert.ok([...looked].every(one => given.known.map(id).includes(one)));
      const due = given.known.filter(n => n % 3 === 0 && looked.has(id(n))).length * 2;
      assert.equal(events.length, due);
      assert.ok(events.every(({ instance = '' }) => looked.has(instance)));
    }),
    { numRuns: 150 },
  );
});

test('law: the order of the instances, and what occurs twice, makes no difference', async () => {
  await fc.assert(
    fc.asyncProperty(
      world.chain(given =>
        fc.tuple(
          fc.constant(given),
          fc.shuffledSubarray([...everybody(given)], { minLength: everybody(given).length }),
        ),
      ),
      namings,
      async ([given, shuffled], names) => {
        const [one, other] = [
          fakeEc2(accountOf(given, { names })),
          fakeEc2(accountOf(given, { names })),
        ];
        const [first, second] = [
          await scan(one, everybody(given)),
          await scan(other, [...shuffled, ...shuffled.slice(0, 5)]),
        ];
        const text = ({ looked, ...rest }: SourceObservation): string =>
          JSON.stringify({ ...rest, looked: [...looked] });
        assert.equal(text(first), text(second));
        assert.deepEqual(one.calls, other.calls);
      },
    ),
    { numRuns: 100 },
  );
});
