import { readFileSync } from 'node:fs';
import type { Told } from '../operator/ports.ts';
import type { Clock } from '../support/clock.ts';
import { Deadline } from '../support/deadline.ts';
import { AnswerTooLarge, type Asking, type Exchange, exchangeOver, type Saying } from '../support/http-exchange.ts';
import type { Log } from '../support/log.ts';
import type { SourceConfig } from './sources-file.ts';

/** Speaks to one source, with what its files say at that moment: tokens and certificates are replaced while the operator runs. */

/** How a question has ended, for metrics: `unusable`, an answer that is none to it. */
export type QueryResult = 'answered' | 'unreachable' | 'refused' | 'failed' | 'unusable';

/** Why there is no answer. Neither says anything of a credential. */
export type SourceFailure = {
  readonly result: Exclude<QueryResult, 'answered'>;
  /** For whoever wrote the question. */
  readonly problem: string;
  /** For whoever runs the operator. */
  readonly detail?: string;
};

export type Asked<T> = { readonly value: T } | { readonly failure: SourceFailure };

/** Larger answers are refused. */
const mostBytes = 8 * 1024 * 1024;

type Secrets = { readonly authorization?: string; readonly ca?: string; readonly cert?: string; readonly key?: string };

const contentOf = (file: string): string => readFileSync(file, 'utf8');

const authorizationOf = ({ authorization, basicAuth }: SourceConfig): string | undefined => {
  if (authorization) return `${authorization.type} ${contentOf(authorization.credentialsFile).trim()}`;
  if (!basicAuth) return undefined;
  const password = contentOf(basicAuth.passwordFile).trim();
  return `Basic ${Buffer.from(`${basicAuth.username}:${password}`).toString('base64')}`;
};

const secretsOf = (source: SourceConfig): Secrets => {
  const { caFile, certFile, keyFile } = source.tls;
  const authorization = authorizationOf(source);
  return {
    ...(authorization !== undefined && { authorization }),
    ...(caFile !== undefined && { ca: contentOf(caFile) }),
    ...(certFile !== undefined && { cert: contentOf(certFile) }),
    ...(keyFile !== undefined && { key: contentOf(keyFile) }),
  };
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export class Source {
  readonly #config: SourceConfig;
  readonly #clock: Clock;
  readonly #log: Log;
  #exchange: { readonly of: string; readonly carry: Exchange } | undefined;
  #isWell = true;

  constructor(config: SourceConfig, clock: Clock, log: Log) {
    this.#config = config;
    this.#clock = clock;
    this.#log = log;
  }

  /** As plans name it. */
  get title(): string {
    return `source ${this.#config.name}`;
  }

  get config(): SourceConfig {
    return this.#config;
  }

  /** One call below its address, with its time limit: the answer, whatever the status, or why there was none. Rejects with the signal's reason only. */
  async call(asking: Omit<Asking, 'url'> & { readonly path: string }, signal: AbortSignal): Promise<Asked<Saying>> {
    const { path, method, headers, body } = asking;
    let secrets: Secrets;
    try {
      secrets = secretsOf(this.#config);
    } catch (error) {
      return { failure: this.#unreadable(error) };
    }
    const { authorization } = secrets;
    using deadline = new Deadline(this.#clock, this.#config.timeoutMs, [signal]);
    try {
      const said = await this.#carrier(secrets)(
        {
          method,
          url: `${this.#config.url}${path}`,
          headers: { ...headers, accept: 'application/json', ...(authorization !== undefined && { authorization }) },
          ...(body !== undefined && { body }),
        },
        deadline.signal,
      );
      return { value: withoutSecrets(said, authorization) };
    } catch (error) {
      signal.throwIfAborted();
      return { failure: this.#silent(error, deadline.expired) };
    }
  }

  /** The answer for whoever asked. Trouble is logged when it begins, and that it is over. */
  settle<T>(asked: Asked<T>): Told<T> {
    const { name, kind, url } = this.#config;
    if ('value' in asked) {
      if (!this.#isWell) this.#log.info('a monitoring source answers again', { source: name, kind, url });
      this.#isWell = true;
      return { value: asked.value };
    }
    const { problem, detail = problem, result } = asked.failure;
    // What a plan asks for may be wrong all the time, and is told there.
    if (result !== 'refused' && result !== 'unusable') {
      if (this.#isWell) this.#log.warn('a monitoring source fails', { source: name, kind, url, error: detail });
      this.#isWell = false;
    }
    return { problem };
  }

  /** Connections are not kept: one lies idle between two questions for longer than many servers keep it. */
  #carrier({ ca, cert, key }: Secrets): Exchange {
    const { serverName, insecure } = this.#config.tls;
    const of = JSON.stringify([ca, cert, key]);
    if (this.#exchange?.of !== of) {
      const options = { insecure, mostBytes, keepAlive: false, ...(serverName !== undefined && { serverName }) };
      const pair = { ...(ca !== undefined && { ca }), ...(cert !== undefined && { cert }), ...(key !== undefined && { key }) };
      this.#exchange = { of, carry: exchangeOver({ ...options, ...pair }) };
    }
    return this.#exchange.carry;
  }

  #unreadable(error: unknown): SourceFailure {
    const problem = `the operator cannot read the credentials or certificates of ${this.title}: its log names the file`;
    return { result: 'failed', problem, detail: messageOf(error) };
  }

  #silent(error: unknown, expired: boolean): SourceFailure {
    if (error instanceof AnswerTooLarge) {
      const problem = `the answer of ${this.title} is larger than ${mostBytes / 1024 / 1024} MiB: ask for less`;
      return { result: 'unusable', problem };
    }
    const { code } = error as { readonly code?: string };
    // Messages of Node have addresses in them, which are no business of whoever sees a plan.
    const why = expired ? `nothing within ${this.#config.timeoutMs / 1000} s` : (code ?? 'the connection failed');
    return { result: 'unreachable', problem: `${this.title} does not answer: ${why}`, detail: `${why}: ${messageOf(error)}` };
  }
}

/** What is no answer may be quoted, and a proxy may send back what it was sent. */
const withoutSecrets = (said: Saying, authorization: string | undefined): Saying => {
  const secret = authorization?.split(' ').at(-1) ?? '';
  return secret === '' || said.status === 200 ? said : { ...said, text: said.text.replaceAll(secret, '***') };
};
