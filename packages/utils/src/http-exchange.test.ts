import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { createTransport, type ExchangeOptions } from './bounded-server.ts';

const { signal } = new AbortController();

/** A proxy that answers for every server itself, and lets nobody through to one with TLS. */
async function startProxy() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('from the proxy');
  }).on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { asked, url, [Symbol.dispose]: () => void server.close() };
}

async function ask(url: string, over: Partial<ExchangeOptions> = {}): Promise<string> {
  return (
    await createTransport({ mostBytes: 100, keepAlive: false, ...over })(
      { method: 'GET', url, headers: {} },
      signal,
    )
  ).text;
}

test('each server is spoken to through the proxy that it is said to have', async () => {
  using proxy = await startProxy();
  using direct = await startProxy();
  const proxyFor = ({ hostname }: URL): string | undefined =>
    hostname === '127.0.0.1' ? undefined : proxy.url;
  assert.equal(await ask('http://far.test/x?y=1', { proxyFor }), 'from the proxy');
  await assert.rejects(ask('https://far.test/x', { proxyFor }));
  await ask(`${direct.url}/x`, { proxyFor });
  assert.deepEqual(
    [proxy.asked, direct.asked],
    [['GET http://far.test/x?y=1', 'CONNECT far.test:443'], ['GET /x']],
  );
});

test('when nothing else is said, the environment counts', async () => {
  using proxy = await startProxy();
  process.env['HTTP_PROXY'] = proxy.url;
  try {
    assert.equal(await ask('http://far.test/x'), 'from the proxy');
  } finally {
    delete process.env['HTTP_PROXY'];
  }
});

test('a proxy that cannot be used is an error of the call', async () => {
  const proxyFor = (): string => {
    throw new Error('SOCKS');
  };
  await assert.rejects(ask('http://far.test/x', { proxyFor }), /SOCKS/);
});
