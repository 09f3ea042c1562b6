import assert from 'node:assert/strict';
import { test } from 'node:test';
import { secondsAfter } from '@drydock/apimachinery';
import { maintenance } from '@drydock/apis';
import type { Write } from '@drydock/core';
import { readLease } from '@drydock/core/lease';
import { readNode } from '@drydock/core/node';
import type { ApiCall, ApiResponse } from '@drydock/kube-client';
import { PanicHandler, VirtualClock } from '@drydock/utils';
import { ClusterCache } from '../cache/cluster-cache.ts';
import {
  FakeLog,
  FakeMeter,
  FakeRecorder,
  failure,
  response,
  ScriptedApi,
} from '../testing/fakes.ts';
import { type CacheUpdater, cacheUpdaterOf } from './cache-updater.ts';
import { Writer } from './writer.ts';

const adapter = maintenance('leases');

function bench(reply: ApiResponse | Error | ((call: ApiCall) => ApiResponse) = response(200)) {
  const api = new ScriptedApi(call => {
    if (reply instanceof Error) throw reply;
    return typeof reply === 'function' ? reply(call) : reply;
  });
  const [recorder, meter, log] = [new FakeRecorder(), new FakeMeter(), new FakeLog()];
  const clock = new VirtualClock();
  const cache = new ClusterCache({
    api,
    watcher: { watch: async () => {} },
    clock,
    adapters: [adapter],
    log,
    defects: new PanicHandler({ log, meter }),
    events: { touched: () => {}, budgetChanged: () => {}, podChanged: () => {}, foreign: () => {} },
  });
  const leader = { yes: true };
  const writer = new Writer({
    api,
    cacheUpdater: cacheUpdaterOf(cache, [adapter]),
    recorder,
    meter,
    log,
    defects: new PanicHandler({ log, meter }),
    clock,
    fence: { mayAct: () => leader.yes },
  });
  return { api, clock, recorder, meter, log, cache, writer, leader };
}

const about = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u' };
const nodeWrite: Write = {
  description: 'hold the node',
  method: 'PATCH',
  style: 'merge',
  path: '/api/v1/nodes/n1',
  body: { spec: { unschedulable: true } },
  cache: 'nodes',
  events: [{ type: 'Normal', reason: 'Said', message: '', component: 'drydock', about }],
};
function rawNode(version: number): object {
  return {
    metadata: { name: 'n1', uid: 'u', resourceVersion: String(version) },
    spec: { unschedulable: true },
  };
}
function rawLease(version: number): object {
  return {
    metadata: { namespace: 'leases', name: 'node-n1', uid: 'l', resourceVersion: String(version) },
    spec: { holderIdentity: 'us' },
  };
}
const leaseDelete: Write = {
  description: 'release the node lease',
  method: 'DELETE',
  path: '/apis/coordination.k8s.io/v1/namespaces/leases/leases/node-n1',
  body: { preconditions: { uid: 'l' } },
  cache: 'leases',
  events: [],
};

test('what was stored is seen in the world at once, logged, counted and announced', async () => {
  const { api, writer, cache, recorder, meter, log } = bench(response(200, rawNode(8)));
  assert.deepEqual(await writer.write(nodeWrite, 'n1'), { result: 'stored' });
  assert.equal(cache.nodes.get('n1')?.resourceVersion, '8');
  assert.deepEqual(
    [recorder.reasons, meter.writes, log.of('info')],
    [['Said'], ['nodes stored'], ['hold the node']],
  );
  const [call] = api.calls;
  assert.deepEqual(
    [call?.priority, call?.contentType, call?.body],
    ['vital', 'application/merge-patch+json', nodeWrite.body],
  );
});

test('strategic patches are sent as such, everything else as plain JSON', async () => {
  const { api, writer } = bench(response(200, rawNode(8)));
  await writer.write({ ...nodeWrite, style: 'strategic' }, 'n1');
  const { style: _style, ...plain } = nodeWrite;
  await writer.write({ ...plain, method: 'POST' }, 'n1');
  assert.deepEqual(
    api.calls.map(({ contentType }) => contentType),
    ['application/strategic-merge-patch+json', undefined],
  );
});

test('an answer that the watch has overtaken does not turn the world back', async () => {
  const { writer, cache } = bench(response(200, rawNode(8)));
  cache.nodes.apply({ type: 'added', object: readNode(rawNode(9)) });
  await writer.write(nodeWrite, 'n1');
  assert.equal(cache.nodes.get('n1')?.resourceVersion, '9');
});

test('an object of a served kind is read in its own dialect', async () => {
  const raw = {
    metadata: {
      name: 'disk',
      uid: 'm',
      resourceVersion: '5',
      creationTimestamp: '2026-01-01T00:00:00Z',
      finalizers: [adapter.finalizer],
    },
    spec: { nodeName: 'n1' },
  };
  const { writer, cache } = bench(response(200, raw));
  await writer.write(
    {
      ...nodeWrite,
      cache: 'requests',
      adapter: adapter.name,
      path: `${adapter.path}/disk`,
      events: [],
    },
    'n1',
  );
  assert.deepEqual(
    cache.requests.in('n1').map(({ name, finalizers }) => [name, finalizers]),
    [['disk', [adapter.finalizer]]],
  );
});

test('a Maintenance that its finalizer keeps is known to be going at once; what is gone for good the watch tells', async () => {
  const raw = {
    metadata: {
      name: 'disk',
      uid: 'm',
      resourceVersion: '5',
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:01:00Z',
      finalizers: [adapter.finalizer],
    },
    spec: { nodeName: 'n1' },
  };
  const end = {
    ...nodeWrite,
    method: 'DELETE',
    cache: 'requests',
    adapter: adapter.name,
    path: `${adapter.path}/disk`,
    events: [],
  } as const;
  const kept = bench(response(200, raw));
  await kept.writer.write(end, 'n1');
  assert.deepEqual(
    kept.cache.requests.in('n1').map(({ deleting }) => deleting),
    [true],
  );
  const gone = bench(response(200, { kind: 'Status', status: 'Success', metadata: {} }));
  await gone.writer.write(end, 'n1');
  assert.deepEqual(gone.cache.requests.in('n1'), []);
});

test('a Maintenance that loses its last finalizer is forgotten: the watch may never tell of it', async () => {
  const metadata = {
    name: 'disk',
    uid: 'm',
    resourceVersion: '5',
    creationTimestamp: '2026-01-01T00:00:00Z',
  };
  const going = { ...metadata, deletionTimestamp: '2026-01-01T00:01:00Z', finalizers: [] };
  const spec = { nodeName: 'n1' };
  const { writer, cache } = bench(({ method }) =>
    response(200, { metadata: method === 'POST' ? metadata : going, spec }),
  );
  const make: Write = {
    ...nodeWrite,
    method: 'POST',
    cache: 'requests',
    adapter: adapter.name,
    path: adapter.path,
    events: [],
  };
  await writer.write(make, 'n1');
  assert.equal(cache.requests.in('n1').length, 1);
  await writer.write({ ...make, method: 'PATCH', path: `${adapter.path}/disk` }, 'n1');
  assert.equal(cache.requests.in('n1').length, 0);
});

test('a Maintenance that is gone when it is written or deleted is forgotten: the watch may never tell of it', async () => {
  const raw = {
    metadata: {
      name: 'disk',
      uid: 'm',
      resourceVersion: '5',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    spec: { nodeName: 'n1' },
  };
  const missed = response(404, {
    reason: 'NotFound',
    details: { name: 'disk', group: 'drydock.dev', kind: 'maintenances' },
  });
  const make: Write = {
    ...nodeWrite,
    method: 'POST',
    cache: 'requests',
    adapter: adapter.name,
    path: adapter.path,
    events: [],
  };
  const after = async (
    method: 'DELETE' | 'PATCH',
    path: string,
    said: ApiResponse,
  ): Promise<readonly unknown[]> => {
    const { writer, cache } = bench(call => (call.method === 'POST' ? response(201, raw) : said));
    await writer.write(make, 'n1');
    const { result } = await writer.write(
      { ...make, method, path: `${adapter.path}/${path}` },
      'n1',
    );
    return [result, cache.requests.in('n1').length];
  };
  assert.deepEqual(await after('DELETE', 'disk', missed), ['stored', 0]);
  assert.deepEqual(await after('PATCH', 'disk', missed), ['conflict', 0]);
  assert.deepEqual(await after('PATCH', 'disk/status', missed), ['conflict', 0]);
  // The kind is not served at the moment: nothing is said of the object.
  for (const method of ['DELETE', 'PATCH'] as const)
    assert.deepEqual(await after(method, 'disk', response(404, '404 page not found')), [
      'conflict',
      1,
    ]);
});

test('what a slow answer says of a Maintenance does not touch its successor of the same name', async () => {
  const metadata = { name: 'disk', creationTimestamp: '2026-01-01T00:00:00Z' };
  const spec = { nodeName: 'n1' };
  const going = {
    ...metadata,
    uid: 'first',
    resourceVersion: '6',
    deletionTimestamp: '2026-01-01T00:01:00Z',
    finalizers: [],
  };
  const missed = response(404, {
    reason: 'NotFound',
    details: { name: 'disk', group: 'drydock.dev', kind: 'maintenances' },
  });
  const make: Write = {
    ...nodeWrite,
    method: 'POST',
    cache: 'requests',
    adapter: adapter.name,
    path: adapter.path,
    events: [],
  };
  const after = async (write: Partial<Write>, said: ApiResponse): Promise<readonly string[]> => {
    const successor = { metadata: { ...metadata, uid: 'second', resourceVersion: '8' }, spec };
    const { writer, cache } = bench(call =>
      call.method === 'POST' ? response(201, successor) : said,
    );
    await writer.write(make, 'n1');
    await writer.write({ ...make, method: 'PATCH', path: `${adapter.path}/disk`, ...write }, 'n1');
    return cache.requests.in('n1').map(({ uid }) => uid);
  };
  const late = { body: { metadata: { resourceVersion: '5' } } };
  assert.deepEqual(
    await after(late, response(200, { metadata: going, spec })),
    ['second'],
    'its last finalizer has gone',
  );
  assert.deepEqual(
    await after(late, response(200, { metadata: { ...going, finalizers: ['other'] }, spec })),
    ['second'],
    'it was still there',
  );
  assert.deepEqual(await after(late, missed), ['second']);
  assert.deepEqual(
    await after({ method: 'DELETE', body: { preconditions: { uid: 'first' } } }, missed),
    ['second'],
  );
  assert.deepEqual(
    await after({ method: 'DELETE', body: { preconditions: { uid: 'second' } } }, missed),
    [],
  );
  assert.deepEqual(await after({ body: { metadata: { resourceVersion: '8' } } }, missed), []);
});

test('a lost race is a conflict, and nothing is announced', async () => {
  const { writer, recorder, meter, log } = bench(failure(409, 'the object has been modified'));
  assert.deepEqual(await writer.write(nodeWrite, 'n1'), { result: 'conflict' });
  assert.deepEqual([recorder.reasons, meter.writes, log.of('warn')], [[], ['nodes conflict'], []]);
});

test('a patch of something that is gone is a conflict: the watch will tell', async () => {
  assert.deepEqual(await bench(failure(404, 'not found')).writer.write(nodeWrite, 'n1'), {
    result: 'conflict',
  });
});

test('a lease that is gone when it is written is forgotten: the watch may never tell of it', async () => {
  const { writer, cache } = bench(({ method }) =>
    method === 'PATCH' ? failure(404, 'not found') : response(201, rawLease(3)),
  );
  await writer.write(
    {
      ...leaseDelete,
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/leases/leases',
    },
    'n1',
  );
  assert.equal(cache.leases.size, 1);
  assert.deepEqual(await writer.write({ ...leaseDelete, method: 'PATCH', style: 'merge' }, 'n1'), {
    result: 'conflict',
  });
  assert.equal(cache.leases.size, 0);
});

const leaseCreate: Write = {
  ...leaseDelete,
  method: 'POST',
  path: '/apis/coordination.k8s.io/v1/namespaces/leases/leases',
};

test('a lease that finds no namespace gets one, and is tried again', async () => {
  const { writer, api } = bench(({ path }) =>
    path === '/api/v1/namespaces' ? response(201) : failure(404, 'namespaces "leases" not found'),
  );
  assert.deepEqual(await writer.write(leaseCreate, 'n1'), { result: 'conflict' });
  assert.deepEqual(api.calls.at(-1)?.body, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: 'leases' },
  });
});

test('a lease that others take away again and again is made ever more slowly; one that was released is made at once', async () => {
  const { writer, clock, api } = bench(response(200, rawLease(3)));
  const create: Write = { ...leaseCreate, body: { metadata: { name: 'node-n1' } } };
  const other: Write = { ...leaseCreate, body: { metadata: { name: 'node-n2' } } };
  const results: string[] = [];
  const make = async (write: Write): Promise<void> =>
    void results.push((await writer.write(write, 'n1')).result);
  await make(create);
  await make(create);
  await make(other);
  await clock.advance(600);
  await make(create);
  await clock.advance(600);
  await make(create);
  assert.deepEqual(results, ['stored', 'postponed', 'stored', 'stored', 'postponed']);
  await writer.write(leaseDelete, 'n1');
  await make(create);
  assert.equal(results.at(-1), 'stored');
  assert.equal(api.calls.length, 5);
});

test('a namespace that may not be made is a refusal, with the reason', async () => {
  const { writer } = bench(({ path }) =>
    path === '/api/v1/namespaces' ? failure(403, 'you may not') : failure(404, 'not found'),
  );
  const written = await writer.write(leaseCreate, 'n1');
  assert.equal(written.result === 'refused' && written.message, 'you may not (HTTP 403)');
});

for (const [how, reply] of [
  ['done', response(200)],
  ['found done by somebody else', failure(404, 'not found')],
] as const) {
  test(`a deletion that is ${how} takes the lease out of the world`, async () => {
    const { writer, cache } = bench(reply);
    cache.leases.apply({ type: 'added', object: readLease(rawLease(3)) });
    assert.deepEqual(await writer.write(leaseDelete, 'n1'), { result: 'stored' });
    assert.equal(cache.leases.size, 0);
  });
}

test('a deletion whose precondition fails leaves the lease', async () => {
  const { writer, cache } = bench(failure(409, 'precondition failed'));
  cache.leases.apply({ type: 'added', object: readLease(rawLease(3)) });
  assert.deepEqual(await writer.write(leaseDelete, 'n1'), { result: 'conflict' });
  assert.equal(cache.leases.size, 1);
});

test('a refusal carries what the server said, bounded, and its status', async () => {
  const refusal = async (reply: ApiResponse | Error): Promise<string> => {
    const written = await bench(reply).writer.write(nodeWrite, 'n1');
    return written.result === 'refused' ? written.message : written.result;
  };
  assert.equal(
    await refusal(failure(403, 'nodes "n1" is forbidden')),
    'nodes "n1" is forbidden (HTTP 403)',
  );
  assert.equal(await refusal(response(502, 'bad gateway')), 'bad gateway (HTTP 502)');
  assert.equal(
    await refusal(response(500, undefined)),
    'the API server responded with 500 (HTTP 500)',
  );
  assert.equal(await refusal(failure(422, 'x'.repeat(9000))), `${'x'.repeat(500)} (HTTP 422)`);
  assert.equal(await refusal(new Error('connect ECONNREFUSED')), 'connect ECONNREFUSED');
});

test('a refusal is warned of with node and path', async () => {
  const { writer, log, meter } = bench(failure(403, 'no'));
  await writer.write(nodeWrite, 'n1');
  assert.deepEqual(log.of('warn'), ['failed to hold the node; retrying']);
  assert.deepEqual(log.lines[0]?.fields, {
    node: 'n1',
    path: '/api/v1/nodes/n1',
    error: 'no (HTTP 403)',
  });
  assert.deepEqual(meter.writes, ['nodes refused']);
});

test('with the fence closed nothing is sent', async () => {
  const { api, writer, leader } = bench();
  leader.yes = false;
  const written = await writer.write(nodeWrite, 'n1');
  assert.equal(
    written.result === 'refused' && written.message,
    'this process is not the leader any more',
  );
  assert.deepEqual(api.calls, []);
});

test('what was refused is not sent again before its pause is over, whoever asks', async () => {
  const { api, clock, writer } = bench(failure(403, 'no'));
  assert.equal((await writer.write(nodeWrite, 'n1')).result, 'refused');
  assert.equal((await writer.write(nodeWrite, 'n1')).result, 'postponed');
  assert.equal(api.calls.length, 1);
  await clock.advance(500);
  assert.equal((await writer.write(nodeWrite, 'n1')).result, 'refused');
  assert.equal(api.calls.length, 2);
});

test('whether a write may have been made is known of those that the server did not come to an end with', async () => {
  const outcomeUnknown = async (reply: ApiResponse | Error): Promise<unknown> => {
    const written = await bench(reply).writer.write(nodeWrite, 'n1');
    return written.result === 'refused' ? written.outcomeUnknown === true : written.result;
  };
  assert.deepEqual(
    [
      await outcomeUnknown(failure(403, 'no')),
      await outcomeUnknown(failure(499, 'no')),
      await outcomeUnknown(response(300)),
    ],
    [false, false, false],
  );
  assert.deepEqual(
    [
      await outcomeUnknown(failure(500, 'x')),
      await outcomeUnknown(failure(503, 'x')),
      await outcomeUnknown(new Error('x')),
    ],
    [true, true, true],
  );
});

test('what the answer may be is said where it is not JSON', async () => {
  const { api, writer } = bench(response(200, rawNode(5)));
  await writer.write({ ...nodeWrite, accept: '*/*' }, 'n1');
  await writer.write(nodeWrite, 'n1');
  assert.deepEqual(
    api.calls.map(call => ('accept' in call ? call.accept : 'left out')),
    ['*/*', 'left out'],
  );
});

test('a lease is renewed as often as somebody wants, and made again at once where a race was lost', async () => {
  const { writer } = bench(response(200, rawLease(3)));
  const renew: Write = { ...leaseDelete, method: 'PATCH', style: 'merge' };
  for (let turn = 0; turn < 3; turn += 1)
    assert.equal((await writer.write(renew, 'n1')).result, 'stored');
  const replies = [failure(409, 'already exists'), response(201, rawLease(4))];
  const racing = bench(() => replies.shift() ?? response(500));
  const results = [
    await racing.writer.write(leaseCreate, 'n1'),
    await racing.writer.write(leaseCreate, 'n1'),
  ];
  assert.deepEqual(results, [{ result: 'conflict' }, { result: 'stored' }]);
});

test('an answer that says nothing of a Maintenance changes nothing of what is known', async () => {
  const raw = {
    metadata: { name: 'one', uid: 'u', resourceVersion: '7', generation: 1 },
    spec: { nodeName: 'n1' },
  };
  const path = `${adapter.path}/one`;
  const toRequest = {
    ...nodeWrite,
    path,
    cache: 'requests',
    adapter: adapter.name,
    events: [],
  } as const;
  const known = async (write: Write, body: unknown): Promise<readonly unknown[]> => {
    const { writer, cache } = bench(response(200, body));
    const { result } = await writer.write(write, 'n1');
    return [result, cache.requests.size];
  };
  assert.deepEqual(await known(toRequest, raw), ['stored', 1]);
  assert.deepEqual(await known({ ...toRequest, adapter: 'nobody.knows' }, raw), ['stored', 0]);
  assert.deepEqual(await known(toRequest, { ...raw, spec: { nodeName: '' } }), ['stored', 0]);
  for (const body of [{ kind: 'Status' }, raw, 'gone'])
    assert.deepEqual(await known({ ...toRequest, method: 'DELETE' }, body), ['stored', 0]);
});

function broken(): never {
  throw new Error('bug in the cache');
}

function buggy(over: {
  readonly cacheUpdater?: CacheUpdater;
  readonly recorder?: { record: () => void };
  readonly reply?: ApiResponse | Error;
}) {
  const [meter, log] = [new FakeMeter(), new FakeLog()];
  const api = new ScriptedApi(() => {
    if (over.reply instanceof Error) throw over.reply;
    return over.reply ?? response(200, rawNode(7));
  });
  const { cacheUpdater = { observe: () => {} }, recorder = new FakeRecorder() } = over;
  const writer = new Writer({
    api,
    cacheUpdater,
    recorder,
    meter,
    log,
    defects: new PanicHandler({ log, meter }),
    clock: new VirtualClock(),
    fence: { mayAct: () => true },
  });
  return { writer, meter, log, api };
}

test('a bug of ours after the answer: the write stays stored, is counted, and is told once with its stack as a bug', async () => {
  for (const over of [{ cacheUpdater: { observe: broken } }, { recorder: { record: broken } }]) {
    const { writer, meter, log } = buggy(over);
    assert.deepEqual(await writer.write(nodeWrite, 'n1'), { result: 'stored' });
    assert.deepEqual(await writer.write(nodeWrite, 'n1'), { result: 'stored' });
    assert.equal(meter.panics.length, 2);
    const bugs = log.lines.filter(({ message }) => message.startsWith('bug in Drydock'));
    assert.deepEqual(
      bugs.map(({ level, fields }) => [
        level,
        fields['error'] instanceof Error && fields['error'].stack?.includes('broken'),
      ]),
      [['error', true]],
    );
    assert.deepEqual(log.of('warn'), []);
  }
});

test('a bug of ours where an object was found gone changes nothing of that either', async () => {
  const { writer, meter } = buggy({
    cacheUpdater: { observe: broken },
    reply: response(404, { details: { name: 'n1' } }),
  });
  assert.deepEqual(await writer.write(nodeWrite, 'n1'), { result: 'conflict' });
  assert.equal(meter.panics.length, 1);
});

test('a bug of ours in the call is told as one, and may have been made; a failure of the network is no bug', async () => {
  const own = buggy({
    reply: new TypeError("Cannot read properties of undefined (reading 'boom')"),
  });
  const outcome = await own.writer.write(nodeWrite, 'n1');
  assert.ok(outcome.result === 'refused' && outcome.outcomeUnknown === true);
  assert.match(outcome.message, /^Drydock hit a bug; please report it: Cannot read/);
  assert.equal(own.meter.panics.length, 1);
  const network = buggy({ reply: new Error('connect ECONNREFUSED') });
  const refused = await network.writer.write(nodeWrite, 'n1');
  assert.ok(refused.result === 'refused');
  assert.deepEqual([refused.message, network.meter.panics.length], ['connect ECONNREFUSED', 0]);
});

test('what a policy or a webhook refuses is a refusal that says who did, whatever code it has, and is tried again soon', async () => {
  const by = (webhook: string) => `admission webhook "${webhook}" denied the request: no`;
  const said: readonly (readonly [code: number, message: string, told: string])[] = [
    ...[400, 401, 403, 404, 409, 410, 422, 429, 500, 503].map(
      code => [code, by('a.b.c'), by('a.b.c')] as const,
    ),
    [
      422,
      `nodes "n1" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no`,
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    ],
    [
      500,
      'Internal error occurred: failed calling webhook "a.b.c": connection refused',
      'webhook a.b.c does not answer: connection refused',
    ],
  ];
  for (const [code, message, told] of said) {
    const { writer, cache, clock } = bench(
      response(code, {
        ...(failure(code, message).body as object),
        details: { name: 'n1', kind: 'nodes' },
      }),
    );
    cache.nodes.apply({ type: 'added', object: readNode(rawNode(7)) });
    const write = { ...nodeWrite, body: {} };
    let outcome = await writer.write(write, 'n1');
    assert.deepEqual(outcome, {
      result: 'refused',
      message: `${told} (HTTP ${code})`,
      until: secondsAfter(clock.now(), 0.5),
    });
    for (let tries = 0; tries < 8; tries += 1) {
      await clock.advance(60_000);
      outcome = await writer.write(write, 'n1');
    }
    assert.deepEqual(
      'until' in outcome && outcome.until,
      secondsAfter(clock.now(), 10),
      String(code),
    );
    assert.equal(cache.nodes.get('n1')?.resourceVersion, '7', 'it is not gone');
  }
});

test('what is not allowed is tried again soon as well: nothing tells that the right is there', async () => {
  const said =
    'nodes "n1" is forbidden: User "drydock" cannot patch resource "nodes" in API group "" at the cluster scope';
  const { writer, clock } = bench(failure(403, said));
  const write = { ...nodeWrite, body: {} };
  let outcome = await writer.write(write, 'n1');
  assert.deepEqual(outcome, {
    result: 'refused',
    message: `${said} (HTTP 403)`,
    until: secondsAfter(clock.now(), 0.5),
  });
  for (let tries = 0; tries < 8; tries += 1) {
    await clock.advance(60_000);
    outcome = await writer.write(write, 'n1');
  }
  assert.deepEqual('until' in outcome && outcome.until, secondsAfter(clock.now(), 10));
});

test('a lease that a webhook refuses as not found makes no namespace', async () => {
  const { api, writer } = bench(failure(404, 'admission webhook "a.b.c" denied the request: no'));
  const outcome = await writer.write(
    {
      ...leaseDelete,
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/leases/leases',
    },
    'n1',
  );
  assert.equal(outcome.result, 'refused');
  assert.equal(api.calls.length, 1);
});
