import { instantAt, isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import type { Clock, HttpResponse, HttpTransport } from '@drydock/utils';
import type { NovaConfig } from './config/config.ts';
import {
  ask,
  computeEndpoint,
  failed,
  failureOf,
  Identity,
  jsonOf,
  type NovaResult,
  type NovaTransport,
} from './identity.ts';

/** Base URL of Nova, and the minor numbers of its microversions; undefined where it has none. */
type FoundVersion = {
  readonly base: string;
  readonly most: number | undefined;
  readonly least: number | undefined;
};

type Ask = (url: string) => Promise<NovaResult<HttpResponse>>;

/**
 * Parts of an endpoint as catalogs have it: `PREFIX`, `PREFIX/v2.1`, `PREFIX/v2.1/PROJECT`, and the
 * same with the legacy `v2`.
 */
type Parts = { readonly prefix: string; readonly version?: string; readonly project: string };

function partsOf(endpoint: string): Parts {
  const [, prefix, version, project = ''] =
    /^(.*?)\/(v\d+(?:\.\d+)?)((?:\/.*)?)$/.exec(endpoint) ?? [];
  return prefix === undefined || version === undefined
    ? { prefix: endpoint, project: '' }
    : { prefix, version, project };
}

function minorOf(text: unknown): number | undefined {
  const minor = typeof text === 'string' ? /^2\.(\d+)$/.exec(text)?.[1] : undefined;
  return minor === undefined ? undefined : Number(minor);
}

function minorsOf(version: JsonObject): Omit<FoundVersion, 'base'> {
  return {
    most: minorOf(version['version']),
    least: minorOf(version['min_version']),
  };
}

function bodyOf({ text }: HttpResponse): JsonObject {
  const body = jsonOf(text);
  return isObject(body) ? body : {};
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isObject) : [];
}

/** Order of preference by the status of a version; others (EXPERIMENTAL) come last. */
const ranks: readonly unknown[] = ['CURRENT', 'SUPPORTED', 'DEPRECATED'];
function rankOf({ status }: JsonObject): number {
  return ranks.includes(status) ? ranks.indexOf(status) : ranks.length;
}

/**
 * Returns the name of the version in the URL: the end of the link to itself, else its id. The rest
 * of a link is ignored: behind a proxy Nova does not know its own host and path, and the token goes
 * only to the host of the catalog.
 */
function segmentOf(version: JsonObject): string | undefined {
  const self = objectsIn(version['links']).find(({ rel }) => rel === 'self')?.['href'];
  const linked = typeof self === 'string' ? /\/(v\d+(?:\.\d+)?)\/*$/.exec(self)?.[1] : undefined;
  if (linked !== undefined) return linked;
  return typeof version['id'] === 'string' && /^v\d+(?:\.\d+)?$/.test(version['id'])
    ? version['id']
    : undefined;
}

/** Returns the version with microversions that has the best status. */
function chosenOf(
  body: JsonObject,
): { readonly segment: string; readonly version: JsonObject } | undefined {
  return objectsIn(body['versions'] ?? body['choices'])
    .flatMap(version => {
      const segment = segmentOf(version);
      return segment === undefined || minorsOf(version).most === undefined
        ? []
        : [{ segment, version }];
    })
    .sort((one, other) => rankOf(one.version) - rankOf(other.version))[0];
}

/** Returns whether a response contains versions; a list of them has status 300 in some releases. */
function isTold({ status }: HttpResponse): boolean {
  return status === 200 || status === 300;
}

/**
 * Returns the version of the URL itself, where it has microversions. Below a project's own URL,
 * Nova does not list any.
 */
async function ofVersion(
  { prefix, version, project }: Parts,
  ask: Ask,
): Promise<NovaResult<FoundVersion | undefined>> {
  const base = `${prefix}/${version ?? ''}`;
  const sent = await ask(`${base}/`);
  if (sent.failure !== undefined) return sent;
  const { status } = sent.value;
  if (status === 404 || status === 400 || status === 300) return { value: undefined };
  if (status !== 200) return { failure: failureOf(sent.value) };
  const body = bodyOf(sent.value);
  const minors = minorsOf(isObject(body['version']) ? body['version'] : {});
  return {
    value: minors.most === undefined ? undefined : { base: `${base}${project}`, ...minors },
  };
}

/**
 * Finds the version of Nova that has microversions, as keystoneauth does: at the URL in the catalog
 * where that names one, else in the list of versions above it, else at `v2.1`, which every Nova
 * with microversions has. A failure, or the lack of microversions, is that of the first of these.
 */
export async function discover(endpoint: string, ask: Ask): Promise<NovaResult<FoundVersion>> {
  const parts = partsOf(endpoint);
  if (parts.version !== undefined) {
    const named = await ofVersion(parts, ask);
    if (named.failure !== undefined) return named;
    if (named.value !== undefined) return { value: named.value };
  }
  const listed = await ask(`${parts.prefix}/`);
  if (listed.failure !== undefined) return listed;
  const body = isTold(listed.value) ? bodyOf(listed.value) : {};
  const chosen = chosenOf(body);
  if (chosen !== undefined)
    return {
      value: {
        base: `${parts.prefix}/${chosen.segment}${parts.project}`,
        ...minorsOf(chosen.version),
      },
    };
  // Some endpoints are one version at a URL that does not name it.
  const single = minorsOf(isObject(body['version']) ? body['version'] : {});
  if (single.most !== undefined) return { value: { base: endpoint, ...single } };
  if (parts.version !== 'v2.1') {
    const usual = await ofVersion({ ...parts, version: 'v2.1' }, ask);
    if (usual.failure !== undefined) return usual;
    if (usual.value !== undefined) return { value: usual.value };
  }
  return isTold(listed.value)
    ? { value: { base: endpoint, most: undefined, least: undefined } }
    : { failure: failureOf(listed.value) };
}

export type NovaRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path below the endpoint, for example `/servers/detail`. */
  readonly path: string;
  readonly body?: Json;
  /** Upper limit of the microversion's minor number, for calls that need an older API. */
  readonly mostMinor?: number;
};

/**
 * Range of supported microversions' minor numbers: 2.53 (Pike) has services by UUID, 2.93 (Zed) is
 * the last that was tested.
 */
const leastMinor = 53;
const maxMinor = 93;

const readMs = 30_000;
/** Timeout of writes: for some of them, Nova schedules before it responds. */
const writeMs = 60_000;
const readAgainMs = 500;

type Target = { readonly base: string; readonly minor: number };

/** Client of one Nova as one user; handles tokens, endpoint and microversion. */
export class NovaClient {
  readonly #asker: NovaTransport;
  readonly #config: NovaConfig;
  readonly #identity: Identity;
  #target: Target | undefined;
  #userId: string | undefined;
  #aheadMs = 0;

  constructor(config: NovaConfig, exchange: HttpTransport, clock: Clock) {
    this.#asker = { exchange, clock };
    this.#config = config;
    this.#identity = new Identity(this.#asker, config);
  }

  /** Id of the user; undefined before the first call. */
  get userId(): string | undefined {
    return this.#userId;
  }

  /** Minor number of the microversion in use; undefined before the first call. */
  get minor(): number | undefined {
    return this.#target?.minor;
  }

  /** Returns the current time by Nova's clock, as known from its responses. */
  now(): Temporal.Instant {
    return instantAt(this.#asker.clock.now().epochMilliseconds + this.#aheadMs);
  }

  /**
   * Returns the body of the response (undefined where it has none), or the failure. GETs without a
   * response, or with a server error, are retried once; a call whose token has expired is retried
   * with a new one. Rejects with the signal's reason only.
   */
  async call(request: NovaRequest, signal: AbortSignal): Promise<NovaResult<Json | undefined>> {
    const first = await this.#once(request, signal);
    const kind = first.failure?.kind;
    if (request.method !== 'GET' || (kind !== 'unreachable' && kind !== 'trouble')) return first;
    await this.#asker.clock.sleep(readAgainMs, signal);
    return this.#once(request, signal);
  }

  async #once(request: NovaRequest, signal: AbortSignal): Promise<NovaResult<Json | undefined>> {
    const target = await this.#open(signal);
    if (target.failure !== undefined) return target;
    const { base, minor } = target.value;
    const sent = await this.#send(
      request,
      `${base}${request.path}`,
      Math.min(minor, request.mostMinor ?? minor),
      signal,
    );
    if (sent.failure !== undefined) return sent;
    const { status, text } = sent.value;
    return status >= 200 && status < 300
      ? { value: text === '' ? undefined : jsonOf(text) }
      : { failure: failureOf(sent.value) };
  }

  async #send(
    request: NovaRequest,
    url: string,
    minor: number | undefined,
    signal: AbortSignal,
  ): Promise<NovaResult<HttpResponse>> {
    for (let again = false; ; again = true) {
      const session = await this.#identity.session(signal);
      if (session.failure !== undefined) return session;
      const { token, userId } = session.value;
      this.#userId = userId;
      const headers = {
        accept: 'application/json',
        'x-auth-token': token,
        ...(minor !== undefined && {
          'openstack-api-version': `compute 2.${minor}`,
          'x-openstack-nova-api-version': `2.${minor}`,
        }),
        ...(request.body !== undefined && { 'content-type': 'application/json' }),
      };
      const asking = {
        method: request.method,
        url,
        headers,
        ...(request.body !== undefined && { body: JSON.stringify(request.body) }),
      };
      const sent = await ask(
        this.#asker,
        asking,
        request.method === 'GET' ? readMs : writeMs,
        signal,
      );
      if (sent.value !== undefined) this.#hear(sent.value);
      if (sent.value?.status !== 401 || again) return sent;
      this.#identity.refused(token);
    }
  }

  /** Records the server's time: Nova's own times are compared with each other only. */
  #hear({ headers }: HttpResponse): void {
    const serverMs = Date.parse(headers['date'] ?? '');
    if (Number.isNaN(serverMs)) return;
    const ahead = serverMs - this.#asker.clock.now().epochMilliseconds;
    // Dates have whole seconds: smaller differences are not significant.
    this.#aheadMs = Math.abs(ahead) > 2000 ? ahead : 0;
  }

  async #open(signal: AbortSignal): Promise<NovaResult<Target>> {
    if (this.#target !== undefined) return { value: this.#target };
    const session = await this.#identity.session(signal);
    if (session.failure !== undefined) return session;
    const endpoint = computeEndpoint(session.value.catalog, this.#config);
    if (endpoint.failure !== undefined) return endpoint;
    const found = await discover(endpoint.value, url =>
      this.#send({ method: 'GET', path: '' }, url, undefined, signal),
    );
    return found.failure === undefined ? this.#settle(found.value) : found;
  }

  #settle({ base, most, least = 1 }: FoundVersion): NovaResult<Target> {
    if (most === undefined || most < leastMinor) {
      const what = most === undefined ? 'no microversions' : `microversions up to 2.${most}`;
      return failed(
        'unfit',
        `the Nova at ${base} speaks ${what}; 2.${leastMinor} (Pike) is needed`,
      );
    }
    if (least > maxMinor)
      return failed(
        'unfit',
        `the Nova at ${base} speaks microversions from 2.${least} on; 2.${maxMinor} is the latest known here`,
      );
    this.#target = { base, minor: Math.min(most, maxMinor) };
    return { value: this.#target };
  }
}
