import { isObject, type Json } from '@drydock/apimachinery';
import {
  AnswerTooLarge,
  type Clock,
  Deadline,
  errorText,
  type HttpRequest,
  type HttpResponse,
  isDefect,
  type Log,
} from '@drydock/utils';
import type { QueryResult } from '../ports.ts';
import { HttpClient, UnreadableFile } from './http-client.ts';
import type { SourceConfig } from './sources-file.ts';

/** Client of one source. */

/** Outcome of a query, for metrics; `unusable`: the response is not a result. */
export type QueryOutcome = 'answered' | 'unreachable' | 'refused' | 'failed' | 'unusable';

/** Reason for a failed query. Neither text contains a credential. */
type SourceFailure = {
  readonly result: Exclude<QueryOutcome, 'answered'>;
  /** Message for the author of the query. */
  readonly problem: string;
  /** Message for the administrator of the operator. */
  readonly detail?: string;
};

export type SourceResult<T> = { readonly value: T } | { readonly failure: SourceFailure };

/** Limit of a response in bytes. */
const maxBytes = 8 * 1024 * 1024;

export class Source {
  readonly #config: SourceConfig;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #carrier: HttpClient;
  #isWell = true;

  constructor(config: SourceConfig, clock: Clock, log: Log) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
    this.#carrier = new HttpClient(config, { mostBytes: maxBytes });
  }

  /** Returns the source's name in messages, as plans spell it. */
  get title(): string {
    return `source ${this.#config.name}`;
  }

  get config(): SourceConfig {
    return this.#config;
  }

  /**
   * Sends one call to a path of the source, with its time limit; returns the response, whatever the
   * status, or a failure. Rejects with the signal's reason, and for defects.
   */
  async call(
    asking: Omit<HttpRequest, 'url'> & { readonly path: string },
    signal: AbortSignal,
  ): Promise<SourceResult<HttpResponse>> {
    const { path, method, headers, body } = asking;
    using deadline = new Deadline(this.#clock, this.#config.timeoutMs, [signal]);
    const asked = {
      method,
      url: `${this.#config.url}${path}`,
      headers: { ...headers, accept: 'application/json' },
    };
    try {
      return {
        value: await this.#carrier.call(
          { ...asked, ...(body !== undefined && { body }) },
          deadline.signal,
        ),
      };
    } catch (error) {
      signal.throwIfAborted();
      if (isDefect(error)) throw error;
      return {
        failure:
          error instanceof UnreadableFile
            ? this.#unreadable(error)
            : this.#silent(error, deadline.expired),
      };
    }
  }

  /** Returns the result for the caller. Logs the start and the end of a failure. */
  settle<T>(asked: SourceResult<T>): QueryResult<T> {
    const { name, kind, url } = this.#config;
    if ('value' in asked) {
      if (!this.#isWell)
        this.#log.info('a monitoring source responds again', { source: name, kind, url });
      this.#isWell = true;
      return { value: asked.value };
    }
    const { problem, detail = problem, result } = asked.failure;
    // A plan's query may be wrong permanently, and the plan reports that.
    if (result !== 'refused' && result !== 'unusable') {
      if (this.#isWell)
        this.#log.warn('failed to query a monitoring source', {
          source: name,
          kind,
          url,
          error: detail,
        });
      this.#isWell = false;
    }
    return { problem };
  }

  #unreadable(error: UnreadableFile): SourceFailure {
    const problem = `the operator cannot read the credentials or certificates of ${this.title}: its log names the file`;
    return { result: 'failed', problem, detail: error.message };
  }

  #silent(error: unknown, expired: boolean): SourceFailure {
    if (error instanceof AnswerTooLarge) {
      const problem = `the response of ${this.title} is larger than ${maxBytes / 1024 / 1024} MiB: query less`;
      return { result: 'unusable', problem };
    }
    const { code } = error as { readonly code?: string };
    // Node's messages contain addresses, which must not be visible in a plan.
    const why = expired
      ? `nothing within ${this.#config.timeoutMs / 1000} s`
      : (code ?? 'the connection failed');
    return {
      result: 'unreachable',
      problem: `${this.title} does not respond: ${why}`,
      detail: `${why}: ${errorText(error)}`,
    };
  }
}

/** Limit of a server's quoted message, in characters. */
const maxLength = 200;

/** Returns one line, without unprintable characters. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
}

/** Parses the body as JSON; returns undefined when it is none. */
export function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/**
 * Returns the message of an error response. Prometheus: {"status": "error", "errorType", "error"}.
 * Alertmanager's API v2: a JSON string, or {"code", "message"}.
 */
function wordsIn(body: Json | undefined): string | undefined {
  if (typeof body === 'string') return oneLine(body);
  const text = isObject(body) ? (body['error'] ?? body['message']) : undefined;
  return typeof text === 'string' ? oneLine(text) : undefined;
}

/** Returns the failure of an error response, for the author of the query. */
export function failureOf(title: string, { status, text }: HttpResponse): SourceFailure {
  if (status === 401 || status === 403)
    return {
      result: 'failed',
      problem: `${title} refuses the credentials of the operator (${status})`,
    };
  if (status >= 300 && status < 400)
    return {
      result: 'failed',
      problem: `${title} responds with a redirect (${status}), which is not followed: use the target as its url`,
    };
  const words = wordsIn(jsonOf(text));
  if (words !== undefined && status >= 400 && status < 500 && status !== 404 && status !== 429)
    return { result: 'refused', problem: `${title} refuses the question: ${words}` };
  return {
    result: 'failed',
    problem: `${title} responds with ${status}${words === undefined ? '' : `: ${words}`}`,
  };
}

/** Returns the failure for a response of another shape than the API's. */
export function malformedResponse(problem: string): { readonly failure: SourceFailure } {
  return { failure: { result: 'unusable', problem } };
}
