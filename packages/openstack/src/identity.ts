import {
  isObject,
  type Json,
  type JsonObject,
  readTime,
  secondsAfter,
  secondsBetween,
} from '@drydock/apimachinery';
import {
  type Clock,
  Deadline,
  type HttpRequest,
  type HttpResponse,
  type HttpTransport,
  isDefect,
} from '@drydock/utils';
import type { Login, NameOrId, NovaConfig } from './config/config.ts';

/** Reason for a failed call. */
export type NovaFailure = {
  readonly kind: /** No response: the call may have taken effect all the same. */
    | 'unreachable'
    /** Keystone rejects the user, or Nova rejects Keystone's token. */
    | 'credentials'
    | 'forbidden'
    | 'missing'
    /** The current state does not allow the call. */
    | 'conflict'
    | 'refused'
    /** The server fails temporarily (429, 5xx). */
    | 'trouble'
    /**
     * The cloud is unsuitable: no compute endpoint, several regions, a Nova that is too old. The
     * configuration has to be corrected.
     */
    | 'unfit';
  /** The server's own message, where it had any. */
  readonly message: string;
  readonly status?: number;
};

/** Result of a call, or its failure. */
export type NovaResult<T> =
  | { readonly value: T; readonly failure?: undefined }
  | { readonly value?: undefined; readonly failure: NovaFailure };

export function failed(
  kind: NovaFailure['kind'],
  message: string,
  status?: number,
): { readonly failure: NovaFailure } {
  return {
    failure: { kind, message, ...(status !== undefined && { status }) },
  };
}

const kinds: Readonly<Record<number, NovaFailure['kind']>> = {
  401: 'credentials',
  403: 'forbidden',
  404: 'missing',
  408: 'trouble',
  409: 'conflict',
  429: 'trouble',
};

function wordsIn(body: Json | undefined): string | undefined {
  if (!isObject(body)) return undefined;
  // Nova: {"badRequest": {"message"}}; Keystone: {"error": {"message"}}; for microversions:
  // {"errors": [{"detail"}]}.
  const first = Array.isArray(body['errors']) ? body['errors'][0] : Object.values(body)[0];
  if (!isObject(first)) return undefined;
  const text = first['message'] ?? first['detail'] ?? first['title'];
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** Parses the body as JSON; returns undefined when it is invalid. */
export function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Returns the failure for an error response. */
export function failureOf({ status, text }: HttpResponse): NovaFailure {
  const message =
    wordsIn(jsonOf(text))?.replaceAll(/\s+/g, ' ').trim() ?? `the server answered ${status}`;
  return { kind: kinds[status] ?? (status >= 500 ? 'trouble' : 'refused'), message, status };
}

/** Returns the failure for a missing response. */
function unreachable(error: unknown, url: string): NovaFailure {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  const what = [message === undefined || message === '' ? String(error) : message, code].filter(
    part => part !== undefined,
  );
  return {
    kind: 'unreachable',
    message: `${new URL(url).origin} does not answer: ${[...new Set(what)].join(', ')}`,
  };
}

export type NovaTransport = { readonly exchange: HttpTransport; readonly clock: Clock };

/**
 * Sends one call with a time limit in milliseconds; returns its response, whatever the status, or
 * the failure. Rejects with the signal's reason, and for defects.
 */
export async function ask(
  { exchange, clock }: NovaTransport,
  asking: HttpRequest,
  limitMs: number,
  signal: AbortSignal,
): Promise<NovaResult<HttpResponse>> {
  using deadline = new Deadline(clock, limitMs, [signal]);
  try {
    return { value: await exchange(asking, deadline.signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (isDefect(error)) throw error;
    return { failure: unreachable(error, asking.url) };
  }
}

/** Result of a login at Keystone. */
export type Session = {
  readonly token: string;
  /** Time of renewal by the local clock, some time before the token expires. */
  readonly renewAt: Temporal.Instant;
  readonly userId: string | undefined;
  readonly catalog: readonly JsonObject[];
};

function withDomain(named: NameOrId, domain: NameOrId | undefined): JsonObject {
  return { ...named, ...(domain && { domain: { ...domain } }) };
}

function bodyOf(login: Login): Json {
  if (login.kind === 'password') {
    const { user, userDomain, password, scope } = login;
    return {
      auth: {
        identity: {
          methods: ['password'],
          password: { user: { ...withDomain(user, userDomain), password } },
        },
        scope: { project: withDomain(scope.project, scope.projectDomain) },
      },
    };
  }
  const { credential, secret, user, userDomain } = login;
  const owner = user && 'name' in credential ? { user: withDomain(user, userDomain) } : {};
  return {
    auth: {
      identity: {
        methods: ['application_credential'],
        application_credential: { ...credential, secret, ...owner },
      },
    },
  };
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/**
 * Returns the time of renewal: when an eighth of the token's life is left, at most two minutes
 * before its end.
 */
function renewal(
  issued: Temporal.Instant,
  expires: Temporal.Instant,
  now: Temporal.Instant,
): Temporal.Instant {
  const life = secondsBetween(issued, expires);
  return secondsAfter(now, life - Math.min(120, life / 8));
}

const loginTimeoutMs = 30_000;

/** Logs in, and again before the token expires. Concurrent callers wait for one login. */
export class Identity {
  readonly #asker: NovaTransport;
  readonly #config: NovaConfig;
  #session: Session | undefined;
  #login: Promise<NovaResult<Session>> | undefined;

  constructor(asker: NovaTransport, config: NovaConfig) {
    this.#asker = asker;
    this.#config = config;
  }

  /** Returns a session whose token is valid for a while. Rejects with the signal's reason only. */
  async session(signal: AbortSignal): Promise<NovaResult<Session>> {
    const now = this.#asker.clock.now();
    if (this.#session !== undefined && Temporal.Instant.compare(now, this.#session.renewAt) < 0)
      return { value: this.#session };
    this.#login ??= this.#logIn(signal).finally(() => {
      this.#login = undefined;
    });
    return this.#login;
  }

  /** Drops a token that Nova has rejected: the next caller logs in again. */
  refused(token: string): void {
    if (this.#session?.token === token) this.#session = undefined;
  }

  async #logIn(signal: AbortSignal): Promise<NovaResult<Session>> {
    const { authUrl, login, source } = this.#config;
    const headers = { 'content-type': 'application/json', accept: 'application/json' };
    const asking = {
      method: 'POST',
      url: `${authUrl}/auth/tokens`,
      headers,
      body: JSON.stringify(bodyOf(login)),
    } as const;
    const { value: answer, failure } = await ask(this.#asker, asking, loginTimeoutMs, signal);
    if (failure !== undefined) return { failure };
    if (answer.status !== 201) {
      const refusal = failureOf(answer);
      return {
        failure: {
          ...refusal,
          message: `Keystone refuses the login of ${source}: ${refusal.message}`,
        },
      };
    }
    const token = answer.headers['x-subject-token'];
    const reply = jsonOf(answer.text);
    const body = isObject(reply) && isObject(reply['token']) ? reply['token'] : undefined;
    if (token === undefined || body === undefined)
      return failed('unfit', `${authUrl} does not answer as a Keystone of version 3`);
    this.#session = this.#sessionOf(token, body);
    return { value: this.#session };
  }

  #sessionOf(token: string, body: JsonObject): Session {
    const now = this.#asker.clock.now();
    const issued = readTime(body['issued_at']) ?? now;
    const expires = readTime(body['expires_at']) ?? secondsAfter(issued, 3600);
    const userId = isObject(body['user']) ? body['user']['id'] : undefined;
    return {
      token,
      renewAt: renewal(issued, expires, now),
      userId: typeof userId === 'string' ? userId : undefined,
      catalog: objectsIn(body['catalog']),
    };
  }
}

function fits(endpoint: JsonObject, region: string): boolean {
  return endpoint['region_id'] === region || endpoint['region'] === region;
}

function list(values: Iterable<unknown>): string {
  return [...new Set([...values].map(String))].sort().join(', ');
}

/**
 * Returns the URL of Nova in Keystone's catalog; an `unfit` failure lists what the catalog offers
 * instead.
 */
export function computeEndpoint(
  catalog: readonly JsonObject[],
  config: Pick<NovaConfig, 'region' | 'interface'>,
): NovaResult<string> {
  const entries = catalog
    .filter(({ type }) => type === 'compute')
    .flatMap(({ endpoints }) => objectsIn(endpoints));
  if (entries.length === 0)
    return failed('unfit', 'the catalog of Keystone has no service of type compute');
  const offered = entries.filter(entry => entry['interface'] === config.interface);
  if (offered.length === 0) {
    return failed(
      'unfit',
      `the catalog has no ${config.interface} endpoint of type compute; it has ${list(entries.map(one => one['interface']))}`,
    );
  }
  const regions = list(offered.map(({ region_id, region }) => region_id ?? region));
  const { region } = config;
  const [endpoint, ...others] =
    region === undefined ? offered : offered.filter(entry => fits(entry, region));
  if (endpoint === undefined)
    return failed(
      'unfit',
      `the catalog has no region ${region} with a compute endpoint; it has ${regions}`,
    );
  if (region === undefined && others.length > 0)
    return failed(
      'unfit',
      `the catalog has several regions (${regions}): choose one with --region`,
    );
  const { url } = endpoint;
  return typeof url === 'string'
    ? { value: url.replace(/\/+$/, '') }
    : failed('unfit', 'the compute endpoint in the catalog has no address');
}
