import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { machineAdapter, planAdapter } from '@drydock/apis';
import { startDashboard } from '@drydock/dashboard';
import { createCluster, inProcess, seeded } from '@drydock/kube-sim';
import { allowed, makeAuthority, makeServing, serveWebhook } from '@drydock/operator/admission';
import { Guard, listen, listenSecurely, serveEvents } from '@drydock/operator/serving';
import {
  boundedServer,
  connectionLimits,
  PanicHandler,
  silentLog,
  systemClock,
} from '@drydock/utils';

/** Every server of the product: how many connections it has at most, whoever opens them. */

const local = { host: '127.0.0.1', port: 0 };
const now = systemClock.now();
const pair = await makeServing(await makeAuthority(now), ['127.0.0.1'], now);
const pages = { '/healthz': async () => ({ status: 200, type: 'text/plain', text: 'ok\n' }) };
const ports = inProcess(createCluster({ clock: systemClock, random: seeded(1) }), {
  userAgent: 'test',
});
const defects = new PanicHandler({ log: silentLog });
const intake = {
  defects,
  ownerOf: () => undefined,
  read: () => ({ events: [], unread: [] }),
  received: async () => 'stored' as const,
};

type Open = { readonly port: number; readonly tls: boolean; close(): unknown };

const servers: Readonly<
  Record<string, { readonly most: number; readonly open: () => Promise<Open> }>
> = {
  'health and metrics over HTTP': {
    most: 128,
    open: async () => ({ ...(await listen(local, pages, defects)), tls: false }),
  },
  'metrics over HTTPS': {
    most: 128,
    open: async () => {
      const server = await listenSecurely(
        local,
        pages,
        new Guard(ports, systemClock, defects),
        defects,
      );
      server.show(pair);
      return { ...server, tls: true };
    },
  },
  'the event intake over HTTP': {
    most: 128,
    open: async () => ({ ...(await serveEvents(local, intake)), tls: false }),
  },
  'the event intake over HTTPS': {
    most: 128,
    open: async () => {
      const server = await serveEvents(local, intake, true);
      server.show(pair);
      return { ...server, tls: true };
    },
  },
  'the dashboard': {
    most: 128,
    open: async () => {
      const common = {
        watcher: ports,
        adapters: [],
        machines: machineAdapter,
        plans: planAdapter,
        hosts: undefined,
        cluster: 'c',
      };
      const dashboard = await startDashboard({
        ...common,
        clock: systemClock,
        log: silentLog,
        defects,
        access: { kind: 'link', token: 't', api: ports },
        port: 0,
      });
      return { port: dashboard.port, tls: false, close: () => dashboard.close() };
    },
  },
  'the webhook': {
    most: 512,
    open: async () => {
      const server = await serveWebhook({
        port: 0,
        decide: async () => allowed,
        log: silentLog,
        defects,
      });
      server.show(pair);
      return { port: server.port, tls: true, close: () => server.close() };
    },
  },
};

/** Opens a connection that says nothing; true once it is one, false where it was closed. */
async function openOne(port: number, tls: boolean, sockets: Socket[]): Promise<boolean> {
  const socket = tls
    ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    : connect({ port, host: '127.0.0.1' });
  sockets.push(socket);
  socket.on('error', () => {});
  const open = new Promise<boolean>(resolve => {
    socket.once(tls ? 'secureConnect' : 'connect', () => {
      if (tls) return resolve(true);
      // A connection over the limit is taken by the kernel, and closed at once.
      const timer = setTimeout(() => resolve(true), 2000);
      socket.once('close', () => (clearTimeout(timer), resolve(false)));
    });
    socket.once('close', () => resolve(false));
  });
  return open;
}

describe('a server has no more connections than it is for', {
  concurrency: 1,
  timeout: 120_000,
}, () => {
  for (const [what, { most, open }] of Object.entries(servers))
    test(`${what}: ${most}, and no more than seven of eight for one address`, async () => {
      const server = await open();
      const { port, tls } = server;
      const sockets: Socket[] = [];
      try {
        const ofOne = Math.ceil((most * 7) / 8);
        // Connections count before any handshake. All at once: whoever says nothing for 10 s is cut
        // off, and so many handshakes may take longer.
        const results = await Promise.all(
          Array.from({ length: ofOne + 24 }, () => openOne(port, false, sockets)),
        );
        assert.equal(results.filter(Boolean).length, ofOne);
        // Room is made by whoever leaves.
        for (const socket of sockets.splice(0, 100)) socket.destroy();
        await new Promise(resolve => setTimeout(resolve, 200));
        assert.equal(await openOne(port, tls, sockets), true);
      } finally {
        for (const socket of sockets) socket.destroy();
        await server.close();
      }
    });

  test('whoever sends a request byte by byte is cut off', { timeout: 40_000 }, async () => {
    const server = boundedServer({ connections: 4 }, (_request, response) => void response.end());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const socket = connect({
      port: typeof address === 'object' && address !== null ? address.port : 0,
      host: '127.0.0.1',
    });
    const began = performance.now();
    socket.write('GET / HTTP/1.1\r\nx: ');
    const timer = setInterval(() => socket.write('y'), 500);
    socket.resume();
    socket.on('error', () => {});
    await once(socket, 'close');
    clearInterval(timer);
    const seconds = (performance.now() - began) / 1000;
    assert.ok(seconds > 9 && seconds < 25, `after ${seconds} s`);
    server.close();
  });
});

test('no other file of the product makes a server: a new one comes through this door', () => {
  const root = join(import.meta.dirname, '..', '..', 'packages');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    name => /\.(ts|tsx|mjs)$/.test(name) && !/\.test\.ts$|(^|\/)testing\//.test(name),
  );
  const making = files.filter(name =>
    /\b(createServer|createSecureServer|createTlsServer|new (Tls)?Server)\b/.test(
      readFileSync(join(root, name), 'utf8'),
    ),
  );
  // The embedded cluster speaks HTTP/2, which this door does not, and bounds its server itself.
  assert.deepEqual(making.sort(), [
    join('kube-sim', 'src', 'serve.ts'),
    join('utils', 'src', 'bounded-server.ts'),
  ]);
  assert.match(
    readFileSync(join(root, 'kube-sim', 'src', 'serve.ts'), 'utf8'),
    /boundConnections\(server, connectionLimits\.embedded\)/,
  );
  assert.ok(connectionLimits.embedded > 1000);
});
