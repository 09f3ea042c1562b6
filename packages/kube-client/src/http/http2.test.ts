import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import type { ServerHttp2Stream, Settings } from 'node:http2';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { type Clock, systemClock, VirtualClock } from '@drydock/utils';
import { serverPair, testAuthority } from '../testing/certificates.ts';
import { connectionFailure } from '../testing/connection-failure.ts';
import {
  type FaultResponder,
  FaultServer,
  json,
  type SeenRequest,
  until,
} from '../testing/fault-server.ts';
import { Credentials, constant } from './credentials.ts';
import { Transport, type TransportOptions } from './transport.ts';

/** RFC 9113 7. */
const internalError = 2;

/** Streams over HTTP/2 connections that they share, with a server on 127.0.0.1. */

type Start = Partial<TransportOptions> & {
  readonly settings?: Settings | undefined;
  readonly ca?: string;
};

async function start(
  respond: FaultResponder,
  { settings = {}, ca = testAuthority, ...setting }: Start = {},
) {
  const server = await FaultServer.start(respond, { ...serverPair, http2: settings });
  const credentials = new Credentials([constant({ authorization: 'Bearer t', ca })], {
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
    watch: (path = '/watch', signal = new AbortController().signal, timeoutMs = 20_000) =>
      transport.stream({ path, timeoutMs }, signal),
    [Symbol.asyncDispose]: async () => {
      transport.close();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The head of the answer and one line; the stream stays open. */
function speaks(request: SeenRequest, incoming: ServerResponse): void {
  incoming.writeHead(200, { 'content-type': 'application/json' });
  incoming.write(`${request.path}\n`);
}

type Opened = Awaited<ReturnType<Transport['stream']>>;

function chunksOf(opened: Opened): AsyncIterator<Uint8Array> {
  assert.equal(opened.kind, 'open');
  return opened.chunks[Symbol.asyncIterator]();
}

async function textOf(chunks: AsyncIterator<Uint8Array>): Promise<string> {
  return Buffer.from((await chunks.next()).value ?? []).toString('utf8');
}

test('streams share as few connections as the server allows; calls have others', async () => {
  const respond: FaultResponder = (request, incoming) =>
    request.path === '/call' ? json(incoming, 200, {}) : speaks(request, incoming);
  await using it = await start(respond, { settings: { maxConcurrentStreams: 2 } });
  const opened = await Promise.all(Array.from({ length: 5 }, (_, n) => it.watch(`/watch/${n}`)));
  const texts = await Promise.all(opened.map(one => textOf(chunksOf(one))));
  assert.deepEqual(texts, ['/watch/0\n', '/watch/1\n', '/watch/2\n', '/watch/3\n', '/watch/4\n']);
  assert.deepEqual([it.server.connections, it.server.sessions.size], [3, 3]);
  const each = Object.values(
    Object.groupBy(it.server.requests, ({ connection }) => connection),
  ).map(of => of?.length ?? 0);
  assert.deepEqual(
    each.toSorted((one, other) => one - other),
    [1, 2, 2],
  );
  const headers = it.server.requests[0]?.headers ?? {};
  assert.deepEqual(
    [headers['authorization'], headers['user-agent'], headers['accept']],
    ['Bearer t', 'drydock/test', 'application/json'],
  );
  assert.equal((await it.transport.call({ method: 'GET', path: '/call' })).status, 200);
  assert.deepEqual([it.server.connections, it.server.sessions.size], [4, 3]);
});

test('a stream that is given up leaves its place to another, and the others alone', async () => {
  const closed: string[] = [];
  const respond: FaultResponder = (request, incoming) => {
    incoming.once('close', () => closed.push(request.path));
    return speaks(request, incoming);
  };
  await using it = await start(respond, { settings: { maxConcurrentStreams: 2 } });
  const stop = new AbortController();
  const [left, kept] = await Promise.all([it.watch('/left', stop.signal), it.watch('/kept')]);
  const [leaving, keeping] = [chunksOf(left), chunksOf(kept)];
  assert.deepEqual([await textOf(leaving), await textOf(keeping)], ['/left\n', '/kept\n']);
  const next = keeping.next();
  stop.abort(new Error('enough'));
  await assert.rejects(leaving.next(), /enough/);
  await until('the server sees it', () => closed.includes('/left'));
  assert.equal(await textOf(chunksOf(await it.watch('/new'))), '/new\n');
  assert.equal(it.server.connections, 1);
  it.transport.close();
  await assert.rejects(next);
});

for (const [what, settings] of [
  ['a server that speaks HTTP/1.1 only', undefined],
  ['one that allows no streams', { maxConcurrentStreams: 0 }],
] as const) {
  test(`${what}: every stream has its own connection, and HTTP/2 is asked for once`, async () => {
    await using server = await FaultServer.start(speaks, {
      ...serverPair,
      ...(settings && { http2: settings }),
    });
    const credentials = new Credentials([constant({ ca: testAuthority })], {
      headers: {},
      tls: {},
    });
    const transport = new Transport({
      server: server.url,
      credentials,
      userAgent: 't',
      clock: systemClock,
    });
    const { signal } = new AbortController();
    const opened = await Promise.all(
      [1, 2, 3].map(n => transport.stream({ path: `/${n}` }, signal)),
    );
    assert.deepEqual(await Promise.all(opened.map(one => textOf(chunksOf(one)))), [
      '/1\n',
      '/2\n',
      '/3\n',
    ]);
    const distinct = (): number =>
      new Set(server.requests.map(({ connection }) => connection)).size;
    assert.deepEqual([distinct(), server.connections <= 4], [3, true]);
    assert.equal((await transport.stream({ path: '/4' }, signal)).kind, 'open');
    assert.deepEqual([distinct(), server.connections <= 5], [4, true]);
    transport.close();
    await until('all are closed', () => server.open === 0);
  });
}

test('HTTP/2 is switched off: every stream has its own connection', async () => {
  await using it = await start(speaks, { http2: false });
  await Promise.all([it.watch(), it.watch()]);
  assert.deepEqual([it.server.connections, it.server.sessions.size], [2, 0]);
});

test('a server that wants to be rid of a connection: what is on it goes on, and the next stream has another', async () => {
  const lines: (() => void)[] = [];
  const respond: FaultResponder = (request, incoming) => {
    speaks(request, incoming);
    lines.push(() => incoming.write('more\n'));
  };
  await using it = await start(respond);
  const chunks = chunksOf(await it.watch('/old'));
  assert.equal(await textOf(chunks), '/old\n');
  for (const session of it.server.sessions) session.goaway();
  await until('another connection', () => {
    void it.watch('/new').catch(() => {});
    return it.server.connections > 1;
  });
  lines[0]?.();
  assert.equal(await textOf(chunks), 'more\n');
});

test('a connection that is cut breaks all its streams, and the next one is made anew', async () => {
  await using it = await start(speaks);
  const all = (await Promise.all([it.watch('/a'), it.watch('/b')])).map(chunksOf);
  assert.deepEqual(await Promise.all(all.map(textOf)), ['/a\n', '/b\n']);
  const broken = Promise.allSettled(all.map(chunks => chunks.next()));
  it.server.resetAll();
  assert.deepEqual(
    (await broken).map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(await textOf(chunksOf(await it.watch('/c'))), '/c\n');
  assert.equal(it.server.connections, 2);
});

test('a connection that had other streams is cut under a new one: that one is asked for again, once', async () => {
  let cuts = 1;
  const respond: FaultResponder = (request, incoming) => {
    if (request.path === '/second' && cuts-- > 0) it.server.resetAll();
    else speaks(request, incoming);
  };
  await using it = await start(respond);
  assert.equal((await it.watch('/first')).kind, 'open');
  assert.equal(await textOf(chunksOf(await it.watch('/second'))), '/second\n');
  cuts = 2;
  const error = await connectionFailure(it.watch('/second'));
  assert.deepEqual([error.reason, error.mayHaveHappened], ['reset', true]);
});

test('an answer that the server breaks off is an error, and no end', async () => {
  const respond: FaultResponder = (request, incoming) => {
    speaks(request, incoming);
    setTimeout(
      () =>
        (incoming as unknown as { readonly stream: ServerHttp2Stream }).stream.close(internalError),
      20,
    );
  };
  await using it = await start(respond);
  const chunks = chunksOf(await it.watch());
  await textOf(chunks);
  await assert.rejects(chunks.next());
});

test('a refusal comes with its body, and its place is free again', async () => {
  const respond: FaultResponder = (_, incoming) =>
    json(incoming, 410, { reason: 'Expired' }, { 'retry-after': '3' });
  await using it = await start(respond, { settings: { maxConcurrentStreams: 1 } });
  for (let n = 0; n < 3; n += 1) {
    const refused = await it.watch();
    assert.ok(refused.kind === 'refused');
    const { status, body, headers } = refused.response;
    assert.deepEqual(
      [status, body, headers['retry-after'], headers[':status']],
      [410, { reason: 'Expired' }, '3', undefined],
    );
  }
  assert.equal(it.server.connections, 1);
});

test('no head in time: timeout, and the connection, which may be dead, gets no more streams', async () => {
  const respond: FaultResponder = (request, incoming) =>
    request.path === '/dead' ? undefined : speaks(request, incoming);
  await using it = await start(respond);
  const chunks = chunksOf(await it.watch('/old'));
  await textOf(chunks);
  const error = await connectionFailure(it.watch('/dead', undefined, 100));
  assert.deepEqual([error.reason, error.mayHaveHappened], ['timeout', true]);
  assert.equal(await textOf(chunksOf(await it.watch('/new'))), '/new\n');
  assert.equal(it.server.connections, 2);
  const next = chunks.next();
  it.transport.close();
  await assert.rejects(next);
});

test('other certificates mean another connection; what is on the old one goes on', async () => {
  let ca = testAuthority;
  const read = () => Promise.resolve({ ca });
  const credentials = new Credentials([{ read, renew: () => {} }], { headers: {}, tls: {} });
  await using it = await start(speaks, { credentials });
  const chunks = chunksOf(await it.watch('/old'));
  await textOf(chunks);
  ca = `${testAuthority}\n`;
  assert.equal(await textOf(chunksOf(await it.watch('/new'))), '/new\n');
  assert.deepEqual([it.server.connections, it.server.sessions.size], [2, 2]);
  const next = chunks.next();
  it.transport.close();
  await assert.rejects(next);
});

test('nobody listens, or the certificate is not trusted: said as for calls', async () => {
  const gone = await start(speaks);
  await gone.server[Symbol.asyncDispose]();
  const error = await connectionFailure(gone.watch());
  assert.deepEqual([error.reason, error.mayHaveHappened], ['unreachable', false]);
  gone.transport.close();
  await using it = await start(speaks, { ca: '' });
  const distrusted = await connectionFailure(it.watch());
  assert.deepEqual(
    [distrusted.reason, distrusted.mayHaveHappened, it.server.requests.length],
    ['tls', false, 0],
  );
});

test('closed: streams are cut, and so is what is just being opened', async () => {
  await using it = await start((request, incoming) =>
    request.path === '/dead' ? undefined : speaks(request, incoming),
  );
  const chunks = chunksOf(await it.watch('/open'));
  await textOf(chunks);
  const [next, waiting] = [chunks.next(), connectionFailure(it.watch('/dead'))];
  await until('it waits', () => it.server.requests.length === 2);
  it.transport.close();
  await assert.rejects(next);
  assert.equal((await waiting).reason, 'closed');
  assert.equal((await connectionFailure(it.watch())).reason, 'closed');
  await until('the connection is closed', () => it.server.open === 0);
});

test('a signal that is aborted while the connection is being made gives its own reason', async () => {
  await using it = await start(speaks);
  const stop = new AbortController();
  const waiting = it.watch('/a', stop.signal);
  stop.abort(new Error('enough'));
  await assert.rejects(waiting, /enough/);
  assert.equal(await textOf(chunksOf(await it.watch('/b'))), '/b\n');
});

/** A way to a server that may become dead: nothing comes through any more, and nobody says so. */
async function deadEnd(port: number) {
  const pairs: (readonly [Socket, Socket])[] = [];
  const way = createServer(near => {
    const far = connect(port, '127.0.0.1');
    pairs.push([near, far]);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on('error', () => other.destroy()).pipe(other);
  });
  await new Promise<void>(resolve => way.listen(0, '127.0.0.1', resolve));
  return {
    port: (way.address() as AddressInfo).port,
    die: (): void => {
      for (const [near, far] of pairs) {
        near.unpipe(far);
        far.unpipe(near);
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of pairs.flat()) socket.destroy();
      await new Promise(resolve => way.close(resolve));
    },
  };
}

test('a connection that gives no sign of life is cut, with all its streams; one that does goes on for ever', async () => {
  const clock = new VirtualClock();
  let pauses = 0;
  const counting: Clock = {
    now: () => clock.now(),
    sleep: (milliseconds, signal) => clock.sleep(milliseconds, signal),
    after: (milliseconds, task) => {
      if (milliseconds === 30_000) pauses += 1;
      return clock.after(milliseconds, task);
    },
  };
  await using server = await FaultServer.start(speaks, { ...serverPair, http2: {} });
  let pings = 0;
  await using way = await deadEnd(server.port);
  const credentials = new Credentials([constant({ ca: testAuthority })], { headers: {}, tls: {} });
  const transport = new Transport({
    server: `https://127.0.0.1:${way.port}`,
    credentials,
    userAgent: 't',
    clock: counting,
  });
  const { signal } = new AbortController();
  const opened = await Promise.all(
    ['/a', '/b'].map(path => transport.stream({ path, timeoutMs: 20_000 }, signal)),
  );
  const all = opened.map(chunksOf);
  await Promise.all(all.map(textOf));
  for (const session of server.sessions) session.on('ping', () => (pings += 1));
  let ended = 0;
  const ends = all.map(chunks =>
    chunks.next().then(
      () => assert.fail('nothing more was said'),
      (error: unknown) => {
        ended += 1;
        return error;
      },
    ),
  );
  for (const turn of [1, 2, 3]) {
    await clock.advance(30_000);
    await until('a ping is answered', () => pauses === turn + 1);
    assert.equal(pings, turn);
  }
  assert.equal(ended, 0);
  way.die();
  await clock.advance(30_000);
  await clock.advance(14_900);
  assert.equal(ended, 0);
  await clock.advance(200);
  for (const error of await Promise.all(ends))
    assert.match(String(error), /has not answered a ping within 15 s/);
  assert.equal(pings, 3);
  transport.close();
});

test('a server that says nothing once TLS stands, or not even that: given up after a minute, and tried again', async () => {
  const clock = new VirtualClock();
  const sockets: Socket[] = [];
  const keep = (socket: Socket): void => void sockets.push(socket.on('error', () => {}));
  const silent = createTlsServer({ ...serverPair, ALPNProtocols: ['h2'] }, keep);
  const mute = createServer(keep);
  for (const server of [silent, mute]) {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const credentials = new Credentials([constant({ ca: testAuthority })], {
      headers: {},
      tls: {},
    });
    const { port } = server.address() as AddressInfo;
    const transport = new Transport({
      server: `https://127.0.0.1:${port}`,
      credentials,
      userAgent: 't',
      clock,
    });
    const open = () =>
      connectionFailure(
        transport.stream({ path: '/a', timeoutMs: 100_000 }, new AbortController().signal),
      );
    sockets.length = 0;
    for (const connections of [1, 2]) {
      const waiting = open();
      await until('it is connected', () => sockets.length === connections);
      await clock.advance(60_100);
      const error = await waiting;
      assert.match(error.message, /no HTTP\/2 connection within 60 s/, `connection ${connections}`);
      assert.deepEqual([error.reason, error.mayHaveHappened], ['unreachable', false]);
    }
    const closing = open();
    await until('it is connected', () => sockets.length === 3);
    transport.close();
    assert.equal((await closing).reason, 'closed');
    for (const socket of sockets) socket.destroy();
    await new Promise(resolve => server.close(resolve));
  }
});
