import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubeEvent } from '@drydock/apimachinery';
import { type Log, silentLog, VirtualClock } from '@drydock/utils';
import type { ApiCall, ApiResponse } from '../api.ts';
import { ConnectionError } from '../http/credentials.ts';
import { EventRecorder } from './events.ts';

type Body = {
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly count: number;
  readonly message: string;
} & Readonly<Record<string, unknown>>;

function response(status: number, message = ''): ApiResponse {
  return { status, headers: {}, body: { message } };
}
function cut(happened: boolean): ConnectionError {
  return new ConnectionError(
    { method: 'POST', path: '/', server: 's' },
    'reset',
    happened,
    new Error('cut'),
  );
}

function setting(
  reply: (call: ApiCall, n: number) => ApiResponse | ConnectionError = () => response(201),
  limits = {},
) {
  const clock = new VirtualClock();
  const calls: ApiCall[] = [];
  const lines: string[] = [];
  const log: Log = { ...silentLog, warn: message => lines.push(message) };
  const api = {
    call: (call: ApiCall): Promise<ApiResponse> => {
      calls.push(call);
      const result = reply(call, calls.length - 1);
      return result instanceof Error ? Promise.reject(result) : Promise.resolve(result);
    },
  };
  const recorder = new EventRecorder({
    api,
    clock,
    log,
    random: () => 0,
    instance: 'pod-1',
    ...limits,
  });
  const bodies = (): Body[] => calls.map(({ body }) => body as Body);
  return {
    clock,
    calls,
    lines,
    recorder,
    bodies,
    steps: () => calls.map(({ method, path }) => `${method} ${path}`),
  };
}

function note(more: Partial<KubeEvent> = {}): KubeEvent {
  return {
    type: 'Normal',
    reason: 'Drained',
    message: 'all pods are gone',
    component: 'drydock',
    about: { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' },
    ...more,
  };
}

test('an event about a node lies in default and says all that kubectl shows', async () => {
  const it = setting();
  it.recorder.record(note());
  await it.clock.advance(0);
  assert.deepEqual(it.steps(), ['POST /api/v1/namespaces/default/events']);
  const { metadata, ...body } = it.bodies()[0]!;
  assert.match(metadata.name, /^n1\.[0-9a-f]+$/);
  assert.deepEqual(body, {
    apiVersion: 'v1',
    kind: 'Event',
    involvedObject: note().about,
    type: 'Normal',
    reason: 'Drained',
    message: 'all pods are gone',
    source: { component: 'drydock' },
    reportingComponent: 'drydock',
    reportingInstance: 'pod-1',
    firstTimestamp: '2026-01-01T00:00:00Z',
    lastTimestamp: '2026-01-01T00:00:00Z',
    count: 1,
  });
});

test('the same note again raises the count; another one is another event; a burst is one event', async () => {
  const it = setting();
  for (let n = 0; n < 3; n += 1) it.recorder.record(note());
  await it.clock.advance(5000);
  it.recorder.record(note());
  it.recorder.record(note({ reason: 'Other', about: { ...note().about, namespace: 'ns' } }));
  await it.clock.advance(0);
  const name = it.bodies()[0]!.metadata.name;
  assert.deepEqual(it.steps(), [
    'POST /api/v1/namespaces/default/events',
    `PATCH /api/v1/namespaces/default/events/${name}`,
    'POST /api/v1/namespaces/ns/events',
  ]);
  assert.equal(it.bodies()[0]!.count, 3);
  assert.deepEqual(
    [it.bodies()[1], it.calls[1]?.contentType],
    [{ count: 4, lastTimestamp: '2026-01-01T00:00:05Z' }, 'application/merge-patch+json'],
  );
});

test('the server has forgotten the event: a new one is made', async () => {
  const it = setting(({ method }) => response(method === 'PATCH' ? 404 : 201));
  it.recorder.record(note());
  await it.clock.advance(0);
  it.recorder.record(note());
  await it.clock.advance(0);
  assert.deepEqual(
    it.calls.map(({ method }) => method),
    ['POST', 'PATCH', 'POST'],
  );
});

test('no answer: tried once more under the same name, and "there already" is success then', async () => {
  const it = setting((_, n) => (n === 0 ? cut(true) : n === 1 ? response(409) : response(200)));
  it.recorder.record(note());
  await it.clock.advance(1000);
  it.recorder.record(note());
  await it.clock.advance(0);
  assert.deepEqual(
    it.calls.map(({ method }) => method),
    ['POST', 'POST', 'PATCH'],
  );
  assert.equal(it.bodies()[0]!.metadata.name, it.bodies()[1]!.metadata.name);
  assert.deepEqual(it.lines, []);
});

test('failures are logged, the first of a row only, and stop nothing; a terminating namespace is not worth a line', async () => {
  const it = setting((_, n) =>
    n === 0
      ? response(403, 'unable to create new content in namespace x because it is being terminated')
      : n < 3
        ? response(403, 'forbidden')
        : response(201),
  );
  for (const reason of ['A', 'B', 'C', 'D']) it.recorder.record(note({ reason }));
  await it.clock.advance(0);
  assert.deepEqual([it.calls.length, it.lines], [4, ['an event could not be recorded']]);
});

test('long messages are cut, the queue and the memory are bounded', async () => {
  const it = setting(undefined, { longestQueue: 2, remembered: 1 });
  for (const reason of ['A', 'B', 'C'])
    it.recorder.record(note({ reason, message: 'x'.repeat(5000) }));
  assert.deepEqual(it.lines, ['too many events wait to be recorded, one was dropped']);
  await it.clock.advance(0);
  assert.deepEqual(
    it.bodies().map(({ message }) => message.length),
    [1024, 1024],
  );
  it.recorder.record(note({ reason: 'A', message: 'x'.repeat(5000) }));
  await it.clock.advance(0);
  assert.equal(it.calls[2]?.method, 'POST', 'A was forgotten when B was remembered');
});

test('drain waits until all is recorded, or until its time is up', async () => {
  const it = setting();
  it.recorder.record(note());
  assert.equal(await it.recorder.drain(1000), 0);
  assert.equal(it.calls.length, 1);
  const stuck = setting(() => cut(false));
  stuck.recorder.record(note());
  stuck.recorder.record(note({ reason: 'B' }));
  const drained = stuck.recorder.drain(500);
  await stuck.clock.advance(500);
  assert.equal(await drained, 1);
});
