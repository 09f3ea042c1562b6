import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCloudEvents } from '@drydock/clouds';
import type { MachineEvent } from '@drydock/core/machine';
import { PanicHandler, silentLog } from '@drydock/utils';
import { type Received, serveEvents } from './event-intake.ts';

const defects = new PanicHandler({ log: silentLog });

const token = 'correct-horse';
const local = { host: '127.0.0.1', port: 0 };
const event = {
  specversion: '1.0',
  id: '1',
  source: 's',
  type: 'dev.drydock.machine.reboot',
  subject: 'n1',
};

async function serving(
  became: (events: readonly MachineEvent[]) => Received | Promise<Received> = () => 'stored',
) {
  const received: MachineEvent[] = [];
  const { port, close } = await serveEvents(local, {
    ownerOf: given => (given === token ? 'tests' : undefined),
    read: readCloudEvents,
    defects,
    received: async events => {
      received.push(...events);
      return became(events);
    },
  });
  const send = async (
    body: string,
    more: { readonly headers?: Readonly<Record<string, string>> } = {},
  ): Promise<readonly [number, string, Headers]> => {
    const headers = {
      'content-type': 'application/cloudevents+json',
      authorization: `Bearer ${token}`,
      ...more.headers,
    };
    const answer = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body, headers });
    return [answer.status, await answer.text(), answer.headers];
  };
  return { port, received, send, [Symbol.dispose]: close };
}

test('events are stored, and said to be', async () => {
  using server = await serving();
  assert.deepEqual((await server.send(JSON.stringify(event))).slice(0, 2), [
    202,
    '1 event stored\n',
  ]);
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  assert.deepEqual((await server.send(JSON.stringify([event, event]), { headers })).slice(0, 2), [
    202,
    '2 events stored\n',
  ]);
  const binary = {
    'content-type': 'application/json',
    'ce-specversion': '1.0',
    'ce-id': '2',
    'ce-source': 's',
  };
  const rest = { 'ce-type': event.type, 'ce-subject': 'n2' };
  assert.equal(
    (await server.send('{"state":"Active"}', { headers: { ...binary, ...rest } }))[0],
    202,
  );
  assert.deepEqual(
    server.received.map(({ instance, state }) => [instance, state]),
    [
      ['n1', 'Scheduled'],
      ['n1', 'Scheduled'],
      ['n1', 'Scheduled'],
      ['n2', 'Active'],
    ],
  );
});

test('what is stored of a batch is said to be, and what is not is named', async () => {
  using server = await serving(() => ({
    stored: 1,
    refused: 'no node or machine of this cluster is called n2',
  }));
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  const [status, text] = await server.send(JSON.stringify([event, { ...event, subject: 'n2' }]), {
    headers,
  });
  assert.deepEqual(
    [status, text],
    [202, '1 event stored; not stored: no node or machine of this cluster is called n2\n'],
  );
});

test('what cannot be read of a batch costs nobody else of it, and is named', async () => {
  using server = await serving();
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  const wrong = { ...event, type: 'com.example.x' };
  const [status, text] = await server.send(
    JSON.stringify([event, wrong, 7, { ...event, subject: 'n2' }]),
    { headers },
  );
  assert.equal(status, 202);
  assert.match(
    text,
    /^2 events stored; not stored: event 2: the type com\.example\.x is not known: .*; event 3: an event must be a JSON object\n$/,
  );
  assert.deepEqual(
    server.received.map(({ instance }) => instance),
    ['n1', 'n2'],
  );
  assert.deepEqual((await server.send(JSON.stringify([wrong, 7]), { headers }))[0], 400);
  const many = await server.send(JSON.stringify([event, ...Array.from({ length: 20 }, () => 7)]), {
    headers,
  });
  assert.match(
    many[1],
    /^1 event stored; not stored: event 2: .*; and 15 more that cannot be read\n$/,
  );
});

test('what is not wanted of a batch and what cannot be read of it are told together', async () => {
  using server = await serving(() => ({
    refused: 'no node or machine of this cluster is called n1',
  }));
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  assert.deepEqual((await server.send(JSON.stringify([event, 7]), { headers })).slice(0, 2), [
    422,
    'no node or machine of this cluster is called n1; event 2: an event must be a JSON object\n',
  ]);
});

const strangers = [
  '',
  'Bearer',
  'Bearer wrong',
  `Bearer ${token}x`,
  `Basic ${token}`,
  token,
  `Bearer ${token} ${token}`,
];
for (const authorization of strangers) {
  test(`"${authorization}" is a stranger, whose events nobody sees`, async () => {
    using server = await serving();
    const [status, text, headers] = await server.send(JSON.stringify(event), {
      headers: { authorization },
    });
    assert.deepEqual(
      [status, headers.get('www-authenticate'), server.received.length],
      [401, 'Bearer', 0],
    );
    assert.match(text, /Authorization: Bearer/);
    assert.ok(!text.includes(token));
  });
}

test('only POST is served', async () => {
  using server = await serving();
  for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS']) {
    const answer = await fetch(`http://127.0.0.1:${server.port}/`, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, 'POST'], method);
  }
});

test('what is not understood is refused in one line', async () => {
  using server = await serving();
  assert.deepEqual((await server.send('{')).slice(0, 2), [400, 'the body is not JSON\n']);
  const [status, text] = await server.send('hello', { headers: { 'content-type': 'text/plain' } });
  assert.deepEqual([status, text.split('\n').length], [415, 2]);
  assert.equal(server.received.length, 0);
});

test('what is too long is refused, announced or not, and the next request is served', async () => {
  using server = await serving();
  const long = 'x'.repeat(256 * 1024 + 1);
  assert.deepEqual((await server.send(long)).slice(0, 2), [
    413,
    'the body is longer than 256 KiB: send fewer events at once\n',
  ]);
  const chunks = new ReadableStream({
    start: controller => {
      for (let n = 0; n < 5; n += 1)
        controller.enqueue(new TextEncoder().encode(long.slice(0, 100_000)));
      controller.close();
    },
  });
  const streamed = {
    method: 'POST',
    body: chunks,
    duplex: 'half',
    headers: { authorization: `Bearer ${token}` },
  } as const;
  assert.equal((await fetch(`http://127.0.0.1:${server.port}/`, streamed)).status, 413);
  const exact = JSON.stringify({ ...event, data: { description: '' } });
  const full = exact.replace('""', `"${'x'.repeat(256 * 1024 - exact.length)}"`);
  assert.equal((await server.send(full))[0], 202);
});

test('what cannot be stored is to be sent again, what is not wanted is not, and a fault is told', async () => {
  const answers: Received[] = [
    { later: 'no leader at the moment' },
    { refused: 'no machine is called n1' },
  ];
  using server = await serving(() => {
    const next = answers.shift();
    if (next === undefined) throw new Error('out of answers');
    return next;
  });
  const [status, text, headers] = await server.send(JSON.stringify(event));
  assert.deepEqual(
    [status, text, headers.get('retry-after')],
    [503, 'no leader at the moment\n', '10'],
  );
  assert.deepEqual((await server.send(JSON.stringify(event))).slice(0, 2), [
    422,
    'no machine is called n1\n',
  ]);
  assert.deepEqual((await server.send(JSON.stringify(event))).slice(0, 2), [
    500,
    'out of answers\n',
  ]);
});

test('it does not open at an address that is taken', async () => {
  const intake = {
    defects,
    ownerOf: () => undefined,
    read: readCloudEvents,
    received: async () => 'stored' as const,
  };
  using server = await serving();
  await assert.rejects(serveEvents({ ...local, port: server.port }, intake), {
    code: 'EADDRINUSE',
  });
});
