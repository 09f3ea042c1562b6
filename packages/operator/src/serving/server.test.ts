import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PanicHandler, silentLog } from '@drydock/utils';
import { listen, type Page, parseAddress } from './server.ts';

const defects = new PanicHandler({ log: silentLog });

const addresses: readonly (readonly [string, ReturnType<typeof parseAddress>])[] = [
  [':8080', { host: undefined, port: 8080 }],
  ['127.0.0.1:8080', { host: '127.0.0.1', port: 8080 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:65535', { host: '::1', port: 65_535 }],
  ['[::]:1', { host: '::', port: 1 }],
  ['8080', undefined],
  ['', undefined],
  [':65536', undefined],
  [':-1', undefined],
  [':http', undefined],
  [':80.5', undefined],
];

for (const [text, address] of addresses) {
  test(`the address "${text}" ${address === undefined ? 'is none' : `is port ${address.port} of ${address.host ?? 'every address'}`}`, () => {
    assert.deepEqual(parseAddress(text), address);
  });
}

function page(status: number, text: string): Page {
  return async () => ({ status, type: 'text/plain; charset=utf-8', text });
}

async function serving(pages: Readonly<Record<string, Page>>) {
  const { port, close } = await listen({ host: '127.0.0.1', port: 0 }, pages, defects);
  const ask = (path: string, method = 'GET'): Promise<Response> =>
    fetch(`http://127.0.0.1:${port}${path}`, { method });
  return { port, ask, [Symbol.dispose]: close };
}

test('a page is served with its own status and type, and nobody keeps it', async () => {
  using server = await serving({
    '/healthz': page(200, 'ok\n'),
    '/readyz': page(503, 'not read yet: nodes\n'),
  });
  const healthy = await server.ask('/healthz?verbose');
  assert.deepEqual(
    [
      healthy.status,
      await healthy.text(),
      healthy.headers.get('content-type'),
      healthy.headers.get('cache-control'),
    ],
    [200, 'ok\n', 'text/plain; charset=utf-8', 'no-store'],
  );
  const ready = await server.ask('/readyz');
  assert.deepEqual([ready.status, await ready.text()], [503, 'not read yet: nodes\n']);
});

test('what is not served is not found', async () => {
  using server = await serving({ '/healthz': page(200, 'ok\n') });
  for (const path of ['/', '/healthz/', '/healthz/x', '//healthz'])
    assert.equal((await server.ask(path)).status, 404, path);
});

test('only GET and HEAD are served', async () => {
  using server = await serving({ '/healthz': page(200, 'ok\n') });
  for (const method of ['POST', 'PUT', 'DELETE'])
    assert.equal((await server.ask('/healthz', method)).status, 405, method);
  const head = await server.ask('/healthz', 'HEAD');
  assert.deepEqual([head.status, await head.text()], [200, '']);
});

test('a page that throws is a 500 that says that it is our fault, and the server goes on', async () => {
  using server = await serving({
    '/metrics': async () => {
      throw new Error('no numbers today');
    },
    '/healthz': page(200, 'ok\n'),
  });
  const failed = await server.ask('/metrics');
  assert.deepEqual(
    [failed.status, await failed.text()],
    [500, 'Drydock hit a bug; please report it: no numbers today\n'],
  );
  assert.equal((await server.ask('/healthz')).status, 200);
});

test('an address that is taken cannot be had', async () => {
  using server = await serving({});
  await assert.rejects(listen({ host: '127.0.0.1', port: server.port }, {}, defects), {
    code: 'EADDRINUSE',
  });
});

test('closing ends open connections too, and gives the port back', async () => {
  const { promise: asked, resolve: tell } = Promise.withResolvers<void>();
  const hanging: Page = () => {
    tell();
    return new Promise(() => {});
  };
  const { port, close } = await listen({ host: '127.0.0.1', port: 0 }, { '/': hanging }, defects);
  const answer = fetch(`http://127.0.0.1:${port}/`);
  const cut = assert.rejects(answer);
  await asked;
  close();
  await cut;
  const again = await listen({ host: '127.0.0.1', port }, {}, defects);
  again.close();
});
