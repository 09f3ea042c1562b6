import { Agent, type RequestOptions, request } from 'node:https';

/** Where an API server is and who is asking. PEM texts, not files. */
export type Access = {
  readonly server: string;
  readonly ca?: string;
  readonly insecure?: boolean;
  readonly token?: string;
  readonly certificate?: string;
  readonly key?: string;
};

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Reply = { readonly status: number; readonly body: unknown };
type WatchEvent<T> = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T };

/**
 * A plain client for tests: it never retries and never hides an answer, so that what a test sees is
 * what the server said.
 */
export interface Api {
  /** The server's answer, whatever its status. */
  call(
    method: Method,
    path: string,
    body?: unknown,
    contentType?: string,
    accept?: string,
  ): Promise<Reply>;
  /**
   * The body of a 2xx answer; anything else is an exception that says what was asked and what came
   * back.
   */
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: unknown): Promise<T>;
  put<T>(path: string, body: unknown): Promise<T>;
  /** A merge patch. */
  patch<T>(path: string, body: unknown): Promise<T>;
  /** Not found counts as deleted. */
  delete(path: string, body?: unknown): Promise<void>;
  /**
   * Follows a path that already carries its query; resolves when the signal is aborted, rejects
   * when the server ends the watch.
   */
  watch<T>(
    path: string,
    resourceVersion: string,
    seen: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Closes the sockets. */
  close(): void;
}

function text(value: unknown): string {
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 500);
}

function parse(body: string, type: string | undefined): unknown {
  return type?.includes('json') === true ? (JSON.parse(body) as unknown) : body;
}

function optionsFor(access: Access, agent: Agent): RequestOptions {
  return {
    agent,
    ...(access.ca === undefined ? {} : { ca: access.ca }),
    ...(access.insecure === true ? { rejectUnauthorized: false } : {}),
    ...(access.certificate === undefined ? {} : { cert: access.certificate }),
    ...(access.key === undefined ? {} : { key: access.key }),
  };
}

/** The lines of a watch, each a complete event, however the stream is cut. */
function lines(tell: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return chunk => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) if (line !== '') tell(line);
  };
}

/** A connection of an earlier request. */
class Stale extends Error {}

/**
 * The server has closed it while it was idle: nobody has heard the request, and it may be sent once
 * more.
 */
function isReset(error: unknown): boolean {
  return (
    error instanceof Stale &&
    ['ECONNRESET', 'EPIPE'].includes(String((error.cause as NodeJS.ErrnoException).code))
  );
}

/**
 * A client for one user. `sockets` bounds the requests that are under way at the same time; watches
 * do not count.
 */
export function apiFor(access: Access, sockets = 32): Api {
  const agent = new Agent({ keepAlive: true, maxSockets: sockets });
  const watchers = new Agent({ keepAlive: false });
  const headers = (
    extra: Readonly<Record<string, string | number>>,
  ): Record<string, string | number> => ({
    accept: 'application/json',
    'user-agent': 'drydock-test',
    ...(access.token === undefined ? {} : { authorization: `Bearer ${access.token}` }),
    ...extra,
  });

  const callOnce: Api['call'] = (
    method,
    path,
    body,
    contentType = 'application/json',
    accept = 'application/json',
  ) => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const payload = body === undefined ? undefined : JSON.stringify(body);
    const extra =
      payload === undefined
        ? { accept }
        : { accept, 'content-type': contentType, 'content-length': Buffer.byteLength(payload) };
    const asked = request(
      new URL(access.server + path),
      { ...optionsFor(access, agent), method, headers: headers(extra), timeout: 60_000 },
      answer => {
        let received = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (received += chunk));
        answer.once('error', reject);
        answer.once('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            body: parse(received, answer.headers['content-type']),
          }),
        );
      },
    );
    asked.once('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer in 60 s`)));
    asked.once('error', error =>
      reject(asked.reusedSocket ? new Stale('the connection was closed', { cause: error }) : error),
    );
    asked.end(payload);
    return promise;
  };

  const call: Api['call'] = async (...asked) => {
    try {
      return await callOnce(...asked);
    } catch (error) {
      if (isReset(error)) return callOnce(...asked);
      throw error instanceof Stale ? error.cause : error;
    }
  };

  const expect = async (
    method: Method,
    path: string,
    body?: unknown,
    contentType?: string,
  ): Promise<unknown> => {
    const reply = await call(method, path, body, contentType);
    if (reply.status < 200 || reply.status > 299)
      throw new Error(`${method} ${path}: ${reply.status} ${text(reply.body)}`);
    return reply.body;
  };

  const watch: Api['watch'] = <T>(
    path: string,
    resourceVersion: string,
    seen: (event: WatchEvent<T>) => void,
    signal: AbortSignal,
  ) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const query = `watch=true&timeoutSeconds=3600&resourceVersion=${resourceVersion}`;
    const url = new URL(`${access.server}${path}${path.includes('?') ? '&' : '?'}${query}`);
    const fail = (why: string): void =>
      signal.aborted ? resolve() : reject(new Error(`watch of ${path}: ${why}`));
    const tell = lines(line => {
      const event = JSON.parse(line) as
        | WatchEvent<T>
        | { readonly type: 'ERROR'; readonly object: unknown };
      if (event.type === 'ERROR') fail(text(event.object));
      else seen(event);
    });
    const asked = request(
      url,
      { ...optionsFor(access, watchers), headers: headers({}), signal },
      answer => {
        if (answer.statusCode !== 200) fail(`status ${String(answer.statusCode)}`);
        answer.setEncoding('utf8');
        answer.on('data', tell);
        answer.once('error', error => fail(error.message));
        answer.once('end', () => fail('ended'));
      },
    );
    asked.once('error', error => fail(error.message));
    asked.end();
    return promise;
  };

  return {
    call,
    watch,
    get: async <T>(path: string) => (await expect('GET', path)) as T,
    post: async <T>(path: string, body: unknown) => (await expect('POST', path, body)) as T,
    put: async <T>(path: string, body: unknown) => (await expect('PUT', path, body)) as T,
    patch: async <T>(path: string, body: unknown) =>
      (await expect('PATCH', path, body, 'application/merge-patch+json')) as T,
    delete: async (path, body) => {
      const reply = await call('DELETE', path, body);
      if (reply.status > 299 && reply.status !== 404)
        throw new Error(`DELETE ${path}: ${reply.status} ${text(reply.body)}`);
    },
    close: () => {
      agent.destroy();
      watchers.destroy();
    },
  };
}

/** Clients for the users of one cluster, closed together. */
export function clientsFor(accessOf: (user: string) => Access): {
  readonly apiOf: (user: string, sockets?: number) => Api;
  readonly close: () => void;
} {
  const clients: Api[] = [];
  return {
    apiOf: (user, sockets) => {
      const api = apiFor(accessOf(user), sockets);
      clients.push(api);
      return api;
    },
    close: () => {
      for (const client of clients) client.close();
    },
  };
}
