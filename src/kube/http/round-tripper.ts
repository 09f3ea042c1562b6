import type { IncomingMessage } from 'node:http';
import type { ApiCall, ApiResponse } from '../../operator/ports.ts';
import { type Deadline, orAborted } from '../../support/deadline.ts';
import { ConnectionError, type FailureReason, reasonOf } from './connection-error.ts';
import type { Agents } from './connection-pools.ts';
import type { Credentials, Grant } from './credentials.ts';
import { readText, type Sent, send, type Wire } from './exchange.ts';
import { requestBody, requestHeaders, requestPath, responseBody, responseHeaders } from './request.ts';

/** One call on its way. */
export type Trip = {
  readonly call: ApiCall;
  readonly pool: 'calls' | 'streams';
  readonly deadline: Deadline;
  /** The caller's own. */
  readonly signal: AbortSignal | undefined;
};

type Failed = Extract<Sent, { readonly kind: 'failed' }>;

/** What a courier works with. */
export type CourierOptions = {
  readonly server: URL;
  readonly agents: Agents;
  readonly credentials: Pick<Credentials, 'grant' | 'renew'>;
  readonly userAgent: string;
  /** Aborted when the whole connection is closed. */
  readonly closed: AbortSignal;
};

/** Takes calls to the server with the right credentials, and knows which of them may be taken there twice. */
export class Courier {
  readonly #options: CourierOptions;

  constructor(options: CourierOptions) {
    this.#options = options;
  }

  /** The head of the answer. After 401 the credentials are renewed, and the call made again if that gave other ones. */
  async fetch(trip: Trip): Promise<IncomingMessage> {
    const grant = await this.#grant(trip);
    const first = await this.#carry(trip, grant);
    if (first.statusCode !== 401) return first;
    this.#options.credentials.renew(grant);
    const renewed = await this.#grant(trip).catch(error => {
      first.resume();
      throw error;
    });
    if (renewed === grant) return first;
    // Nobody reads the refusal, but its connection is only free again when it has been read.
    first.resume();
    return this.#carry(trip, renewed);
  }

  /** The whole answer. */
  async read(trip: Trip, response: IncomingMessage): Promise<ApiResponse> {
    try {
      const text = await readText(response);
      const body = responseBody(text, response.headers['content-type']);
      return { status: response.statusCode ?? 0, headers: responseHeaders(response.headers), body };
    } catch (error) {
      if (error instanceof SyntaxError) throw this.#error(trip, 'garbled', true, error);
      throw this.failure(trip, error, { established: true, sent: true });
    }
  }

  /** What the caller is told of a call that came to nothing: its own signal's reason, or a ConnectionError. */
  failure(trip: Trip, error: unknown, { established, sent }: Pick<Failed, 'established' | 'sent'>): unknown {
    const { closed, agents } = this.#options;
    if (trip.signal?.aborted === true) return trip.signal.reason;
    if (closed.aborted) return this.#error(trip, 'closed', sent, closed.reason);
    if (!trip.deadline.expired) return this.#error(trip, reasonOf(error, established), sent, error);
    // The way to the server may be dead, and so may be the connections that wait for use: the next call should not find that out itself.
    if (established) agents.dropIdle();
    return this.#error(trip, 'timeout', sent, error);
  }

  async #grant(trip: Trip): Promise<Grant> {
    try {
      return await orAborted(this.#options.credentials.grant(), trip.deadline.signal);
    } catch (error) {
      if (trip.deadline.signal.aborted) throw this.failure(trip, error, { established: false, sent: false });
      throw this.#error(trip, 'credentials', false, error);
    }
  }

  async #carry(trip: Trip, grant: Grant): Promise<IncomingMessage> {
    const { agents, credentials } = this.#options;
    const wire = this.#wire(trip, grant);
    let sent = await send(wire, trip.deadline.signal);
    if (sent.kind === 'failed' && mayGoAgain(trip, sent)) {
      agents.dropIdle();
      sent = await send(wire, trip.deadline.signal);
    }
    if (sent.kind === 'answered') return sent.response;
    const failure = this.failure(trip, sent.error, sent);
    // Certificates that are not accepted may have been replaced in the meantime.
    if (failure instanceof ConnectionError && failure.reason === 'tls') credentials.renew(grant);
    throw failure;
  }

  #wire({ call, pool }: Trip, grant: Grant): Wire {
    const { server, agents, userAgent } = this.#options;
    const body = requestBody(call);
    return {
      server,
      agent: agents.for(grant.tls)[pool],
      method: call.method,
      path: requestPath(server, call),
      headers: requestHeaders(call, body, userAgent, grant.headers),
      body,
    };
  }

  #error({ call }: Trip, reason: FailureReason, mayHaveHappened: boolean, cause: unknown): ConnectionError {
    return new ConnectionError(
      { method: call.method, path: call.path, server: this.#options.server.origin },
      reason,
      mayHaveHappened,
      cause,
    );
  }
}

/** A kept connection that the server closed just then: harmless for what only reads, and for what had not been sent yet (RFC 9110 9.2.2). */
const mayGoAgain = ({ call, deadline }: Trip, { error, reused, sent }: Failed): boolean =>
  reused && !deadline.signal.aborted && reasonOf(error, true) === 'reset' && (call.method === 'GET' || !sent);
