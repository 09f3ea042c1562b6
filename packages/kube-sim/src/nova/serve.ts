import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { boundedServer, connectionLimits } from '@drydock/utils';
import { compute } from './compute.ts';
import {
  type NovaCall,
  type NovaReply,
  type OpenStack,
  refuse,
  simulatedUser,
} from './open-stack.ts';

function at(value: Json | undefined, ...path: readonly string[]): Json | undefined {
  let found = value;
  for (const key of path) found = isObject(found) ? found[key] : undefined;
  return found;
}

const refusal: NovaReply = {
  status: 401,
  body: {
    error: {
      code: 401,
      message: 'The request you have made requires authentication.',
      title: 'Unauthorized',
    },
  },
};

function isRight(body: Json | undefined): boolean {
  const identity = at(body, 'auth', 'identity');
  if (at(identity, 'application_credential', 'secret') !== undefined) {
    return (
      at(identity, 'application_credential', 'id') === 'credential' &&
      at(identity, 'application_credential', 'secret') === simulatedUser.password
    );
  }
  const user = at(identity, 'password', 'user');
  return at(user, 'name') === simulatedUser.name && at(user, 'password') === simulatedUser.password;
}

function endpoints(base: string): readonly JsonObject[] {
  return ['public', 'internal', 'admin'].map(name => ({
    interface: name,
    region: 'RegionOne',
    region_id: 'RegionOne',
    url: `${base}/compute/v2.1`,
  }));
}

/**
 * A Keystone with one user, one application credential (`credential`, with the user's password as
 * its secret), and its own tokens.
 */
class Keystone {
  readonly #cloud: OpenStack;
  readonly #tokens = new Map<string, number>();
  #made = 0;

  constructor(cloud: OpenStack) {
    this.#cloud = cloud;
  }

  /** Number of successful logins. */
  get logins(): number {
    return this.#made;
  }

  isGood(token: string | undefined): boolean {
    const until = token === undefined ? undefined : this.#tokens.get(token);
    return until !== undefined && until > this.#cloud.nowMs();
  }

  /** Revokes all tokens. */
  revoke(): void {
    this.#tokens.clear();
  }

  logIn(body: Json | undefined, base: string): NovaReply {
    if (!isRight(body)) return refusal;
    this.#made += 1;
    const now = this.#cloud.nowMs();
    const until = now + this.#cloud.tokenSeconds * 1000;
    const token = `token-${this.#made}`;
    this.#tokens.set(token, until);
    const { id, name } = simulatedUser;
    return {
      status: 201,
      headers: { 'x-subject-token': token },
      body: {
        token: {
          issued_at: new Date(now).toISOString(),
          expires_at: new Date(until).toISOString(),
          user: { id, name, domain: { id: 'default', name: 'Default' } },
          catalog: [{ type: 'compute', name: 'nova', endpoints: [...endpoints(base)] }],
        },
      },
    };
  }
}

/** One call of a client. */
export type NovaApiRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body?: string;
};

export type NovaApiResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

function parsed(text: string | undefined): Json | undefined {
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as Json);
}

function tooNew(minor: number, [least, most]: readonly [number, number]): NovaReply {
  return {
    status: 406,
    body: {
      errors: [
        {
          code: '',
          status: 406,
          title: 'Requested microversion is unsupported',
          detail: `Version 2.${minor} is not supported by the API. Minimum is 2.${least} and maximum is 2.${most}.`,
          max_version: `2.${most}`,
          min_version: `2.${least}`,
        },
      ],
    },
  };
}

/** Keystone under /identity and Nova under /compute, of one simulated OpenStack. */
export class OpenStackApi {
  readonly keystone: Keystone;
  /** Calls, such as `GET /servers/detail`, in order; without those for versions and logins. */
  readonly asked: string[] = [];
  readonly #cloud: OpenStack;

  constructor(cloud: OpenStack) {
    this.#cloud = cloud;
    this.keystone = new Keystone(cloud);
  }

  /** Handles one call. Rejects while the cloud is down, as a connection does. */
  readonly exchange = async ({
    method,
    url,
    headers,
    body,
  }: NovaApiRequest): Promise<NovaApiResponse> => {
    if (this.#cloud.down)
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    this.#cloud.catchUp();
    const { origin, pathname, searchParams } = new URL(url);
    const said = this.#answer(method, pathname, searchParams, headers, parsed(body), origin);
    return {
      status: said.status,
      headers: {
        'content-type': 'application/json',
        date: new Date(this.#cloud.nowMs()).toUTCString(),
        ...said.headers,
      },
      text: said.body === undefined ? '' : JSON.stringify(said.body),
    };
  };

  #answer(
    method: string,
    pathname: string,
    query: URLSearchParams,
    headers: NovaApiRequest['headers'],
    body: Json | undefined,
    origin: string,
  ): NovaReply {
    if (pathname === '/identity/v3/auth/tokens' && method === 'POST')
      return this.keystone.logIn(body, origin);
    if (!pathname.startsWith('/compute/v2.1'))
      return refuse(404, 'The resource could not be found.');
    const { minors } = this.#cloud;
    const path = pathname.slice('/compute/v2.1'.length);
    if (path === '' || path === '/') {
      return {
        status: 200,
        body: {
          version: {
            id: 'v2.1',
            status: 'CURRENT',
            version: `2.${minors[1]}`,
            min_version: `2.${minors[0]}`,
          },
        },
      };
    }
    this.asked.push(`${method} ${path}`);
    if (!this.keystone.isGood(headers['x-auth-token'] as string | undefined))
      return refuse(401, 'The request you have made requires authentication.');
    const minor = Number(
      /2\.(\d+)$/.exec(String(headers['openstack-api-version'] ?? ''))?.[1] ?? 1,
    );
    if (minor < minors[0] || minor > minors[1]) return tooNew(minor, minors);
    const asked: NovaCall = { method, path, query, body, minor, base: `${origin}/compute/v2.1` };
    return compute(this.#cloud, asked);
  }
}

async function answer(
  api: OpenStackApi,
  base: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const url = `${base}${request.url ?? '/'}`;
  const said = await api.exchange({
    method: request.method ?? 'GET',
    url,
    headers: request.headers,
    body,
  });
  response.writeHead(said.status, said.headers);
  response.end(said.text);
}

type ServeOptions = {
  /** Port; any free one when left out. */
  readonly port?: number;
  /** Whether the process may exit while the server runs. */
  readonly unref?: boolean;
};

/** Serves it on a port of this machine. `authUrl` is Keystone's. Dispose of it to stop. */
export async function serveOpenStack(
  api: OpenStackApi,
  { port = 0, unref = false }: ServeOptions = {},
) {
  let base = '';
  // While the cloud is down, connections are cut.
  const server = boundedServer(
    { connections: connectionLimits.embedded },
    (request, response) =>
      void answer(api, base, request, response).catch(() => response.destroy()),
  );
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  if (unref) server.unref();
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const close = async (): Promise<void> => {
    const closed = new Promise<void>(resolve => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  return { authUrl: `${base}/identity/v3`, [Symbol.asyncDispose]: close };
}
