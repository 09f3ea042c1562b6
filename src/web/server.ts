import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What is served under one path. */
export type Page = () => Promise<{ readonly status: number; readonly type: string; readonly text: string }>;

/** `host:port` as Go's net package reads it: an empty host is every address. */
export const parseAddress = (address: string): { readonly host: string | undefined; readonly port: number } | undefined => {
  const cut = address.lastIndexOf(':');
  const port = Number(address.slice(cut + 1));
  if (cut === -1 || !Number.isInteger(port) || port < 0 || port > 65_535) return undefined;
  const host = address.slice(0, cut).replace(/^\[|\]$/g, '');
  return { host: host === '' ? undefined : host, port };
};

const answer = (response: ServerResponse, status: number, type: string, text: string): void => {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' });
  response.end(text);
};

const serve = async (page: Page | undefined, method: string | undefined, response: ServerResponse): Promise<void> => {
  if (page === undefined) return answer(response, 404, 'text/plain', 'not found\n');
  if (method !== 'GET' && method !== 'HEAD') return answer(response, 405, 'text/plain', 'only GET is served here\n');
  try {
    const { status, type, text } = await page();
    answer(response, status, type, text);
  } catch (error) {
    answer(response, 500, 'text/plain', `${error instanceof Error ? error.message : String(error)}\n`);
  }
};

/** Where something listens, and how it is ended: open connections are cut. */
export type Listening = { readonly port: number; readonly close: () => void };

/** Has the server listen. Rejects when the address cannot be had. */
export const listening = async (
  server: Server,
  { host, port }: { readonly host: string | undefined; readonly port: number },
): Promise<Listening> => {
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
};

/** Serves pages over plain HTTP. Resolves once it listens; rejects when the address cannot be had. */
export const listen = async (
  address: { readonly host: string | undefined; readonly port: number },
  pages: Readonly<Record<string, Page>>,
): Promise<Listening> => {
  const server: Server = createServer((request, response) => {
    const [path = '/'] = (request.url ?? '/').split('?');
    void serve(Object.hasOwn(pages, path) ? pages[path] : undefined, request.method, response);
  });
  return listening(server, address);
};
