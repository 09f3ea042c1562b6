import type { QueryResult } from '../operator/ports.ts';
import type { Clock } from '../support/clock.ts';
import { Deadline } from '../support/deadline.ts';
import { errorText } from '../support/error-text.ts';
import { AnswerTooLarge, type HttpRequest, type HttpResponse } from '../support/http-exchange.ts';
import type { Log } from '../support/log.ts';
import { isDefect } from '../support/panic-handler.ts';
import { HttpClient, UnreadableFile } from './http-client.ts';
import type { SourceConfig } from './sources-file.ts';

/** Speaks to one source. */

/** How a question has ended, for metrics: `unusable`, an answer that is none to it. */
export type QueryOutcome = 'answered' | 'unreachable' | 'refused' | 'failed' | 'unusable';

/** Why there is no answer. Neither says anything of a credential. */
export type SourceFailure = {
  readonly result: Exclude<QueryOutcome, 'answered'>;
  /** For whoever wrote the question. */
  readonly problem: string;
  /** For whoever runs the operator. */
  readonly detail?: string;
};

export type SourceResult<T> = { readonly value: T } | { readonly failure: SourceFailure };

/** Larger answers are refused. */
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

  /** As plans name it. */
  get title(): string {
    return `source ${this.#config.name}`;
  }

  get config(): SourceConfig {
    return this.#config;
  }

  /** One call below its address, with its time limit: the answer, whatever the status, or why there was none. Rejects with the signal's reason, and for defects. */
  async call(asking: Omit<HttpRequest, 'url'> & { readonly path: string }, signal: AbortSignal): Promise<SourceResult<HttpResponse>> {
    const { path, method, headers, body } = asking;
    using deadline = new Deadline(this.#clock, this.#config.timeoutMs, [signal]);
    const asked = { method, url: `${this.#config.url}${path}`, headers: { ...headers, accept: 'application/json' } };
    try {
      return { value: await this.#carrier.call({ ...asked, ...(body !== undefined && { body }) }, deadline.signal) };
    } catch (error) {
      signal.throwIfAborted();
      if (isDefect(error)) throw error;
      return { failure: error instanceof UnreadableFile ? this.#unreadable(error) : this.#silent(error, deadline.expired) };
    }
  }

  /** The answer for whoever asked. Trouble is logged when it begins, and that it is over. */
  settle<T>(asked: SourceResult<T>): QueryResult<T> {
    const { name, kind, url } = this.#config;
    if ('value' in asked) {
      if (!this.#isWell) this.#log.info('a monitoring source responds again', { source: name, kind, url });
      this.#isWell = true;
      return { value: asked.value };
    }
    const { problem, detail = problem, result } = asked.failure;
    // What a plan asks for may be wrong all the time, and is told there.
    if (result !== 'refused' && result !== 'unusable') {
      if (this.#isWell) this.#log.warn('failed to query a monitoring source', { source: name, kind, url, error: detail });
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
    // Messages of Node have addresses in them, which are no business of whoever sees a plan.
    const why = expired ? `nothing within ${this.#config.timeoutMs / 1000} s` : (code ?? 'the connection failed');
    return { result: 'unreachable', problem: `${this.title} does not respond: ${why}`, detail: `${why}: ${errorText(error)}` };
  }
}
