import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock, VirtualClock } from '@drydock/utils';
import { connectionFailure } from '../testing/connection-failure.ts';
import { type FaultResponder, FaultServer, json, until } from '../testing/fault-server.ts';
import { Credentials, constant } from './credentials.ts';
import { type FinishedCall, Transport, type TransportOptions } from './transport.ts';

async function start(response: FaultResponder, setting: Partial<TransportOptions> = {}) {
  const server = await FaultServer.start(response);
  const credentials = new Credentials([constant({ authorization: 'Bearer t' })], {
    headers: {},
    tls: {},
  });
  const transport = new Transport({
    server: server.url,
    credentials,
    userAgent: 'drydock/test',
    clock: systemClock,
    ...setting,
  });
  return {
    server,
    transport,
    [Symbol.asyncDispose]: async () => {
      transport.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

const get = { method: 'GET', path: '/api/v1/nodes' } as const;
const post = { method: 'POST', path: '/api/v1/nodes', body: { a: 1 } } as const;

test('one connection serves call after call; headers, query and body arrive, JSON comes back parsed', async () => {
  const seen: FinishedCall[] = [];
  await using it = await start((_, incoming) => json(incoming, 201, { ok: true }), {
    onResponse: one => seen.push(one),
  });
  for (let n = 0; n < 3; n += 1) {
    const response = await it.transport.call({
      ...post,
      path: '/api/v1/namespaces/x/pods/y/eviction',
      query: { dryRun: 'All', left: undefined },
    });
    assert.deepEqual(
      [response.status, response.body, response.headers['content-type']],
      [201, { ok: true }, 'application/json'],
    );
  }
  const [first] = it.server.requests;
  assert.deepEqual(
    [first?.headers['user-agent'], first?.headers.authorization, first?.headers['content-type']],
    ['drydock/test', 'Bearer t', 'application/json'],
  );
  assert.deepEqual([first?.body, first?.query.toString()], ['{"a":1}', 'dryRun=All']);
  assert.equal(it.server.connections, 1);
  assert.deepEqual(
    [seen[0]?.path, seen[0]?.status, seen[0]?.priority],
    ['/api/v1/namespaces/{namespace}/pods/{name}/eviction', 201, 'normal'],
  );
});

test('what is not JSON comes back as text; JSON that is none is an error', async () => {
  await using it = await start((request, incoming) => {
    if (request.path === '/text') incoming.end('ok');
    else incoming.writeHead(200, { 'content-type': 'application/json' }).end('{"cut');
  });
  assert.equal((await it.transport.call({ method: 'GET', path: '/text' })).body, 'ok');
  assert.equal((await connectionFailure(it.transport.call(get))).reason, 'garbled');
});

test('nobody listens: unreachable, and nothing can have happened', async () => {
  const { server, transport, ...rest } = await start(() => {});
  await rest[Symbol.asyncDispose]();
  void transport;
  const other = new Transport({
    server: server.requests.length === 0 ? 'http://127.0.0.1:1' : '',
    credentials: new Credentials([], { headers: {}, tls: {} }),
    userAgent: 't',
    clock: systemClock,
  });
  const error = await connectionFailure(other.call(post));
  assert.deepEqual([error.reason, error.mayHaveHappened], ['unreachable', false]);
  assert.match(
    error.message,
    /^POST \/api\/v1\/nodes at http:\/\/127\.0\.0\.1:1: connect ECONNREFUSED/,
  );
  other.close();
});

test('a kept connection that is closed under a GET: asked again once on a new one', async () => {
  let resets = 1;
  await using it = await start((request, incoming) => {
    if (request.connection === 1 && it.server.requests.length > 1 && resets-- > 0)
      incoming.socket?.resetAndDestroy();
    else json(incoming, 200, {});
  });
  await it.transport.call(get);
  assert.equal((await it.transport.call(get)).status, 200);
  assert.equal(it.server.connections, 2);
});

test('a GET on a new connection that is cut is not asked again', async () => {
  await using it = await start((_, incoming) => void incoming.socket?.resetAndDestroy());
  const error = await connectionFailure(it.transport.call(get));
  assert.deepEqual(
    [error.reason, error.mayHaveHappened, it.server.requests.length],
    ['reset', true, 1],
  );
});

test('a change on a kept connection that is cut is never made twice, and may have happened', async () => {
  await using it = await start((request, incoming) =>
    request.method === 'POST' ? void incoming.socket?.resetAndDestroy() : json(incoming, 200, {}),
  );
  await it.transport.call(get);
  const error = await connectionFailure(it.transport.call(post));
  assert.deepEqual([error.reason, error.mayHaveHappened], ['reset', true]);
  assert.equal(it.server.requests.filter(({ method }) => method === 'POST').length, 1);
});

test('an answer that is cut off within its body: reset', async () => {
  await using it = await start((_, incoming) => {
    incoming
      .writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
      .write('{');
    setTimeout(() => incoming.socket?.destroy(), 20);
  });
  assert.deepEqual([(await connectionFailure(it.transport.call(post))).reason], ['reset']);
});

test('no answer in time: timeout, may have happened, and the connection is cut', async () => {
  await using it = await start(() => {});
  const error = await connectionFailure(it.transport.call({ ...post, timeoutMs: 50 }));
  assert.deepEqual([error.reason, error.mayHaveHappened], ['timeout', true]);
  await until('the connection is cut', () => it.server.open === 0);
});

test("an aborted call rejects with the signal's own reason, waiting or on its way", async () => {
  await using it = await start(() => {}, { places: 1 });
  const stop = new AbortController();
  const reason = new Error('enough');
  const calls = [it.transport.call(get, stop.signal), it.transport.call(get, stop.signal)];
  const outcomes = Promise.allSettled(calls);
  await until('the first', () => it.server.requests.length === 1);
  stop.abort(reason);
  for (const outcome of await outcomes)
    assert.equal(outcome.status === 'rejected' && outcome.reason, reason);
  await assert.rejects(it.transport.call(get, stop.signal), reason);
});

test('closing rejects what is on its way, what waits and what comes later', async () => {
  await using it = await start(() => {}, { places: 1 });
  const calls = [
    connectionFailure(it.transport.call(post)),
    connectionFailure(it.transport.call(post)),
  ];
  await until('the first', () => it.server.requests.length === 1);
  it.transport.close();
  const errors = [...(await Promise.all(calls)), await connectionFailure(it.transport.call(post))];
  assert.deepEqual(
    errors.map(({ reason, mayHaveHappened }) => [reason, mayHaveHappened]),
    [
      ['closed', true],
      ['closed', false],
      ['closed', false],
    ],
  );
});

test('bulk calls leave places for normal ones, and those for vital ones; first come, first served', async () => {
  const ends: (() => void)[] = [];
  await using it = await start((_, incoming) => void ends.push(() => json(incoming, 200, {})));
  const all = [
    ...Array.from({ length: 30 }, (_, n) =>
      it.transport.call({ ...post, path: `/bulk/${n}`, priority: 'bulk' }),
    ),
    ...Array.from({ length: 10 }, (_, n) => it.transport.call({ ...get, path: `/normal/${n}` })),
    ...Array.from({ length: 6 }, (_, n) =>
      it.transport.call({ ...get, path: `/vital/${n}`, priority: 'vital' }),
    ),
  ];
  const count = (prefix: string): number =>
    it.server.requests.filter(({ path }) => path.startsWith(prefix)).length;
  await until('32 calls', () => it.server.requests.length === 32);
  assert.deepEqual([count('/bulk'), count('/normal'), count('/vital')], [24, 4, 4]);
  for (let n = 0; n < all.length; n += 1) {
    await until('one more', () => ends.length > n);
    ends[n]?.();
  }
  await Promise.all(all);
  assert.equal(it.server.connections <= 32, true);
});

test('a server that starts, or goes down, says wait: nobody else does', async () => {
  const ending = { 'retry-after': '5', 'content-type': 'text/plain', connection: 'close' };
  const starting = {
    kind: 'Status',
    code: 503,
    message: 'the request has been made before all known HTTP paths have been installed',
  };
  const responses: readonly FaultResponder[] = [
    (_, incoming) => json(incoming, 503, starting, { 'retry-after': '5' }),
    (_, incoming) =>
      void incoming
        .writeHead(429, ending)
        .end('The apiserver is shutting down, please try again later.\n'),
    (_, incoming) => json(incoming, 200, {}),
  ];
  const response: FaultResponder = (request, incoming) =>
    responses[it.server.requests.length - 1]?.(request, incoming);
  await using it = await start(response, { clock: new VirtualClock() });
  const statuses = [
    (await it.transport.call(get)).status,
    (await it.transport.call(get)).status,
    (await it.transport.call(get)).status,
  ];
  assert.deepEqual(statuses, [503, 429, 200]);
});

test('priority & fairness says wait: normal and bulk calls wait, vital ones do not', async () => {
  const clock = new VirtualClock();
  let isBusy = true;
  const response: FaultResponder = (_, incoming) =>
    isBusy
      ? void incoming
          .writeHead(429, { 'retry-after': '7', 'content-type': 'text/plain' })
          .end('Too many requests, please try again later.\n')
      : json(incoming, 200, {});
  await using it = await start(response, { clock });
  assert.equal((await it.transport.call(get)).status, 429);
  isBusy = false;
  let done = 0;
  const waiting = [it.transport.call(get), it.transport.call({ ...post, priority: 'bulk' })].map(
    call => call.then(() => (done += 1)),
  );
  assert.equal((await it.transport.call({ ...get, priority: 'vital' })).status, 200);
  await clock.advance(6900);
  assert.deepEqual([done, it.server.requests.length], [0, 2]);
  await clock.advance(200);
  await Promise.all(waiting);
  assert.equal(done, 2);
});

for (const [what, body] of [
  [
    'a disruption budget',
    {
      kind: 'Status',
      code: 429,
      message: 'Cannot evict pod',
      details: { retryAfterSeconds: 10, causes: [{ reason: 'DisruptionBudget', message: 'x' }] },
    },
  ],
  [
    'an admission webhook',
    { kind: 'Status', code: 429, message: 'admission webhook "virt" denied the request: wait' },
  ],
] as const) {
  test(`a 429 of ${what} holds nothing back`, async () => {
    const clock = new VirtualClock();
    await using it = await start(
      (_, incoming) => json(incoming, 429, body, { 'retry-after': '10' }),
      { clock },
    );
    await it.transport.call({ ...post, priority: 'bulk' });
    assert.equal((await it.transport.call({ ...post, priority: 'bulk' })).status, 429);
  });
}

/** What stands before an API server that is away. */
function away(retryAfter: string): FaultResponder {
  const headers = { 'retry-after': retryAfter, 'content-type': 'text/plain' };
  return (_, incoming) => void incoming.writeHead(503, headers).end('no server is available');
}

test('503 with Retry-After holds back, at most a minute', async () => {
  const clock = new VirtualClock();
  const response: FaultResponder = (request, incoming) =>
    it.server.requests.length === 1 ? away('86400')(request, incoming) : json(incoming, 200, {});
  await using it = await start(response, { clock });
  await it.transport.call(get);
  const waiting = it.transport.call({ ...get, timeoutMs: 100_000 });
  await clock.advance(59_000);
  assert.equal(it.server.requests.length, 1);
  await clock.advance(1500);
  assert.equal((await waiting).status, 200);
});

test('a call that is held back longer than its time is given up, and has not happened', async () => {
  const clock = new VirtualClock();
  await using it = await start(away('60'), { clock });
  await it.transport.call(get);
  const waiting = connectionFailure(it.transport.call({ ...post, priority: 'bulk' }));
  await clock.advance(30_000);
  const error = await waiting;
  assert.deepEqual([error.reason, error.mayHaveHappened], ['timeout', false]);
});

test('401: the credentials are renewed once for all calls, and each call is made once more', async () => {
  let token = 'old';
  let renewals = 0;
  const source = {
    read: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    renew: () => {
      renewals += 1;
      token = 'new';
    },
  };
  const credentials = new Credentials([source], { headers: {}, tls: {} });
  await using it = await start(
    (request, incoming) =>
      json(incoming, request.headers.authorization === 'Bearer new' ? 200 : 401, {}),
    {
      credentials,
    },
  );
  const responses = await Promise.all(Array.from({ length: 5 }, () => it.transport.call(post)));
  assert.deepEqual(
    responses.map(({ status }) => status),
    [200, 200, 200, 200, 200],
  );
  assert.ok(renewals >= 1 && renewals <= 5);
});

test('401 with nothing else to offer: the answer is given, and the call was made once', async () => {
  await using it = await start((_, incoming) => json(incoming, 401, { message: 'Unauthorized' }));
  assert.equal((await it.transport.call(get)).status, 401);
  assert.equal(it.server.requests.length, 1);
});

test('no credentials: nothing is sent', async () => {
  const credentials = new Credentials(
    [{ read: () => Promise.reject(new Error('the token file /x is gone')), renew: () => {} }],
    {
      headers: {},
      tls: {},
    },
  );
  await using it = await start(() => {}, { credentials });
  const error = await connectionFailure(it.transport.call(post));
  assert.deepEqual(
    [error.reason, error.mayHaveHappened, it.server.requests.length],
    ['credentials', false, 0],
  );
  assert.match(error.message, /the token file \/x is gone/);
});

test('watches have their own connections: any number of them leaves the places of the calls alone', async () => {
  const response: FaultResponder = (request, incoming) =>
    request.path === '/watch' ? incoming.writeHead(200).flushHeaders() : json(incoming, 200, {});
  await using it = await start(response, { places: 2 });
  const stop = new AbortController();
  await Promise.all(
    Array.from({ length: 5 }, () => it.transport.stream({ path: '/watch' }, stop.signal)),
  );
  assert.equal((await it.transport.call(get)).status, 200);
  stop.abort();
  await until('the watches are closed', () => it.server.open === 1);
});

test('the server has a path of its own: it comes before that of every call', async () => {
  await using server = await FaultServer.start((_, incoming) => json(incoming, 200, {}));
  const clock: Clock = systemClock;
  const transport = new Transport({
    server: `${server.url}/k8s/clusters/c-1/`,
    credentials: new Credentials([], { headers: {}, tls: {} }),
    userAgent: 't',
    clock,
  });
  await transport.call(get);
  transport.close();
  assert.equal(server.requests[0]?.path, '/k8s/clusters/c-1/api/v1/nodes');
});
