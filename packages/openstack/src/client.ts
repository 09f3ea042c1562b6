import type { Json } from '@drydock/apimachinery';
import { instantAt } from '@drydock/apimachinery';
import type { Clock, HttpResponse, HttpTransport } from '@drydock/utils';
import { ask, type NovaTransport } from './ask.ts';
import type { NovaConfig } from './config/config.ts';
import { discover, type FoundVersion } from './discover.ts';
import { failed, failureOf, jsonOf, type NovaResult } from './failure.ts';
import { computeEndpoint, Identity } from './identity.ts';

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
    const told = Date.parse(headers['date'] ?? '');
    if (Number.isNaN(told)) return;
    const ahead = told - this.#asker.clock.now().epochMilliseconds;
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
