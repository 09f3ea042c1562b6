import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { KeyPair, PanicHandler } from '@drydock/utils';
import { bareHost, boundedServer, boundedTlsServer, connectionLimits } from '@drydock/utils';
import type { Guard } from './guard.ts';

/** Handler of one path. */
export type Page = () => Promise<{
  readonly status: number;
  readonly type: string;
  readonly text: string;
}>;

/** Address that a server listens on. */
export type Address = { readonly host: string | undefined; readonly port: number };

/** Parses `host:port` as Go's net package does: an empty host means every address. */
export function parseAddress(address: string): Address | undefined {
  const cut = address.lastIndexOf(':');
  const port = Number(address.slice(cut + 1));
  if (cut === -1 || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined;
  const host = bareHost(address.slice(0, cut));
  return { host: host === '' ? undefined : host, port };
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

/** Serves one page. An error is always a defect, because a page contacts no server. */
async function serve(
  page: Page | undefined,
  { method, url = '' }: IncomingMessage,
  response: ServerResponse,
  defects: PanicHandler,
): Promise<void> {
  if (page === undefined) return answer(response, 404, 'text/plain', 'not found\n');
  if (method !== 'GET' && method !== 'HEAD')
    return answer(response, 405, 'text/plain', 'only GET is served here\n');
  try {
    const { status, type, text } = await page();
    answer(response, status, type, text);
  } catch (error) {
    answer(
      response,
      500,
      'text/plain; charset=utf-8',
      `${defects.tell('Process', url.slice(0, 200), error)}\n`,
    );
  }
}

/** A listening server, with its port; closing it cuts open connections. */
export type Listening = { readonly port: number; readonly close: () => void };

/** Starts listening. Rejects when the address is not available. */
export async function listening(
  server: Server,
  { host, port }: { readonly host: string | undefined; readonly port: number },
): Promise<Listening> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, ...(host !== undefined && { host }) }, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function pathOf({ url = '/' }: IncomingMessage): string {
  return url.split('?')[0] ?? '/';
}

function pageAt(pages: Readonly<Record<string, Page>>, path: string): Page | undefined {
  return Object.hasOwn(pages, path) ? pages[path] : undefined;
}

/**
 * Serves pages over plain HTTP. Resolves once it listens; rejects when the address is not
 * available.
 */
export async function listen(
  address: Address,
  pages: Readonly<Record<string, Page>>,
  defects: PanicHandler,
): Promise<Listening> {
  const server = boundedServer(
    { connections: connectionLimits.pages },
    (request, response) => void serve(pageAt(pages, pathOf(request)), request, response, defects),
  );
  return listening(server, address);
}

async function serveGuarded(
  request: IncomingMessage,
  response: ServerResponse,
  pages: Readonly<Record<string, Page>>,
  guard: Guard,
  defects: PanicHandler,
): Promise<void> {
  const path = pathOf(request);
  const page = pageAt(pages, path);
  // Unauthenticated users learn nothing, not even which pages exist.
  const checked = await guard.check(request.headers.authorization, page === undefined ? '/' : path);
  if (checked === 'allowed') return serve(page, request, response, defects);
  if (checked.status === 401) response.setHeader('www-authenticate', 'Bearer');
  answer(response, checked.status, 'text/plain; charset=utf-8', `${checked.text}\n`);
}

/**
 * Serves pages over TLS 1.2 or newer, for users whom the guard admits. Handshakes fail until the
 * first certificate is set.
 */
export async function listenSecurely(
  address: Address,
  pages: Readonly<Record<string, Page>>,
  guard: Guard,
  defects: PanicHandler,
): Promise<Listening & { readonly show: (pair: KeyPair) => void }> {
  const server = boundedTlsServer(
    { connections: connectionLimits.pages },
    (request, response) => void serveGuarded(request, response, pages, guard, defects),
  );
  return {
    ...(await listening(server, address)),
    show: ({ cert, key }) => server.setSecureContext({ cert, key, minVersion: 'TLSv1.2' }),
  };
}
