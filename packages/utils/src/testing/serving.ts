import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type ServedRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
};

/** `hang`: no answer at all. */
export type Answer =
  | {
      readonly status?: number;
      readonly text?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | 'hang';

/**
 * A server of this machine for as long as a test lasts: answers as it is told, and remembers what
 * it was asked.
 */
export async function serving(answer: (asked: ServedRequest) => Answer | Promise<Answer>) {
  const asked: ServedRequest[] = [];
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const one: ServedRequest = {
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body,
    };
    asked.push(one);
    const said = await answer(one);
    if (said === 'hang') return;
    response.writeHead(said.status ?? 200, said.headers);
    response.end(said.text ?? '');
  };
  // A request that was cut off is the test's own doing.
  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const close = async (): Promise<void> => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: close,
  };
}
