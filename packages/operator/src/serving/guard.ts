import { createHash } from 'node:crypto';
import {
  isObject,
  type JsonObject,
  type ReviewKind,
  reviewCall,
  reviewed,
} from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import type { Clock, PanicHandler } from '@drydock/utils';

/** A refused request, with status and text. */
export type DeniedRequest = { readonly status: 401 | 403 | 503; readonly text: string };

type CachedReview = { readonly response: 'allowed' | DeniedRequest; readonly untilMs: number };

/**
 * Milliseconds for which a result is cached, as in controller-runtime's metrics server; number of
 * remembered tokens; limit of concurrent reviews.
 */
const allowedForMs = 60_000;
const refusedForMs = 10_000;
const maxRemembered = 1000;
const atOnce = 16;

function bearer(authorization: string | undefined): string | undefined {
  return /^Bearer +(\S{1,16384})$/i.exec(authorization ?? '')?.[1];
}

/**
 * Admits users whom the API server authenticates and allows to `get` a non-resource path
 * (TokenReview, SubjectAccessReview), as controller-runtime's metrics server does with
 * FilterProvider WithAuthenticationAndAuthorization. Results are cached for a while; a flood of
 * tokens costs the API server no more than a few reviews at a time.
 */
export class Guard {
  readonly #api: Api;
  readonly #clock: Clock;
  readonly #defects: PanicHandler;
  readonly #known = new Map<string, CachedReview>();
  #asking = 0;

  constructor(api: Api, clock: Clock, defects: PanicHandler) {
    this.#api = api;
    this.#clock = clock;
    this.#defects = defects;
  }

  /** Checks a request. Never rejects. */
  async check(authorization: string | undefined, path: string): Promise<'allowed' | DeniedRequest> {
    const token = bearer(authorization);
    if (token === undefined)
      return {
        status: 401,
        text: 'send the token of a service account as Authorization: Bearer <token>',
      };
    const key = createHash('sha256').update(`${path}\n${token}`).digest('base64');
    const known = this.#known.get(key);
    if (known !== undefined && known.untilMs > this.#nowMs()) return known.response;
    if (this.#asking >= atOnce)
      return { status: 503, text: 'too many callers at the same time, please try again' };
    this.#asking += 1;
    try {
      const response = await this.#ask(token, path);
      this.#remember(key, response);
      return response;
    } catch (error) {
      return {
        status: 503,
        text: `the request to the API server failed: ${this.#defects.textOf('Process', path, error)}`,
      };
    } finally {
      this.#asking -= 1;
    }
  }

  #remember(key: string, response: 'allowed' | DeniedRequest): void {
    if (response !== 'allowed' && response.status === 503) return;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= maxRemembered && oldest !== undefined) this.#known.delete(oldest);
    this.#known.delete(key);
    this.#known.set(key, {
      response,
      untilMs: this.#nowMs() + (response === 'allowed' ? allowedForMs : refusedForMs),
    });
  }

  async #ask(token: string, path: string): Promise<'allowed' | DeniedRequest> {
    const who = await this.#review('TokenReview', { token });
    if ('text' in who) return who;
    const { user } = who.status;
    if (who.status['authenticated'] !== true || !isObject(user))
      return { status: 401, text: 'the API server does not know this token' };
    const { username, uid, groups, extra } = user;
    const nonResourceAttributes = { path, verb: 'get' };
    const may = await this.#review('SubjectAccessReview', {
      user: username,
      uid,
      groups,
      extra,
      nonResourceAttributes,
    });
    if ('text' in may) return may;
    if (may.status['allowed'] === true) return 'allowed';
    return {
      status: 403,
      text: `${typeof username === 'string' ? username : 'this user'} may not get ${path}: bind it to the ClusterRole drydock-metrics-reader`,
    };
  }

  async #review(
    kind: ReviewKind,
    spec: JsonObject,
  ): Promise<DeniedRequest | { readonly status: JsonObject }> {
    const status = reviewed(await this.#api.call(reviewCall(kind, spec)));
    return typeof status === 'string'
      ? { status: 503, text: `the request to the API server failed: ${status}` }
      : { status };
  }

  #nowMs(): number {
    return this.#clock.now().epochMilliseconds;
  }
}
