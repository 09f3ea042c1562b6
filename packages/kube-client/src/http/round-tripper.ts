import type { IncomingHttpHeaders } from 'node:http';
import { type Deadline, isDefect, orAborted } from '@drydock/utils';
import type { ApiCall, ApiResponse } from '../api.ts';
import {
  ConnectionError,
  type Credentials,
  type FailureReason,
  type RequestAuth,
  reasonOf,
} from './credentials.ts';
import {
  type IncomingResponse,
  type RequestHeaders,
  readText,
  type Sent,
  send,
  type WireInfo,
} from './exchange.ts';
import { sendAsStream } from './http2-session.ts';
import type { ConnectionPools, Pools } from './http2-sessions.ts';

/**
 * Returns the path on the wire: the server URL's own path, the call's path, and the query without
 * undefined values.
 */
function requestPath(server: URL, { path, query = {} }: Pick<ApiCall, 'path' | 'query'>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  const base = server.pathname.replace(/\/$/, '');
  return parameters.size === 0 ? `${base}${path}` : `${base}${path}?${parameters.toString()}`;
}

/** Returns the body on the wire. */
function requestBody(call: ApiCall): string | undefined {
  return call.body === undefined ? undefined : JSON.stringify(call.body);
}

/** Returns all headers of a call. */
function requestHeaders(
  call: ApiCall,
  body: string | undefined,
  userAgent: string,
  granted: RequestHeaders,
): RequestHeaders {
  return {
    ...granted,
    accept: call.accept ?? 'application/json',
    'user-agent': userAgent,
    ...(body === undefined
      ? {}
      : {
          'content-type': call.contentType ?? 'application/json',
          'content-length': String(Buffer.byteLength(body)),
        }),
  };
}

/** Returns the headers of a response; several with the same name are joined. */
function responseHeaders(headers: IncomingHttpHeaders): ApiResponse['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

/**
 * Returns the body of a response, parsed if its content type is JSON. Throws a SyntaxError when
 * that JSON is invalid.
 */
function responseBody(text: string, contentType: string | undefined): unknown {
  return text !== '' && /^application\/([\w.-]+\+)?json\b/.test(contentType ?? '')
    ? JSON.parse(text)
    : text;
}

/** One in-flight call. */
export type PendingCall = {
  readonly call: ApiCall;
  readonly pool: 'calls' | 'streams';
  readonly deadline: Deadline;
  /** Signal of the caller. */
  readonly signal: AbortSignal | undefined;
};

type Failed = Extract<Sent, { readonly kind: 'failed' }>;

/** Options of a round tripper. */
export type RoundTripperOptions = {
  readonly server: URL;
  readonly connectionPools: ConnectionPools;
  readonly credentials: Pick<Credentials, 'auth' | 'renew'>;
  readonly userAgent: string;
  /** Signal that is aborted when the whole connection is closed. */
  readonly closed: AbortSignal;
};

/** Sends calls with the current credentials, and decides which of them may be sent twice. */
export class RoundTripper {
  readonly #options: RoundTripperOptions;

  constructor(options: RoundTripperOptions) {
    this.#options = options;
  }

  /**
   * Returns the head of the response. After a 401, renews the credentials and retries if they have
   * changed.
   */
  async fetch(pendingCall: PendingCall): Promise<IncomingResponse> {
    const auth = await this.#auth(pendingCall);
    const first = await this.#carry(pendingCall, auth);
    if (first.status !== 401) return first;
    this.#options.credentials.renew(auth);
    const renewed = await this.#auth(pendingCall).catch(error => {
      first.body.resume();
      throw error;
    });
    if (renewed === auth) return first;
    // The body is discarded: the connection is free again only when the body has been read.
    first.body.resume();
    return this.#carry(pendingCall, renewed);
  }

  /** Returns the whole response. */
  async read(pendingCall: PendingCall, response: IncomingResponse): Promise<ApiResponse> {
    try {
      const text = await readText(response.body);
      const body = responseBody(text, response.headers['content-type']);
      return { status: response.status, headers: responseHeaders(response.headers), body };
    } catch (error) {
      if (error instanceof SyntaxError) throw this.#error(pendingCall, 'garbled', true, error);
      throw this.failure(pendingCall, error, { established: true, sent: true });
    }
  }

  /**
   * Returns the error for a failed call: the caller's abort reason, a ConnectionError, or a defect
   * of Drydock unchanged.
   */
  failure(
    pendingCall: PendingCall,
    error: unknown,
    { established, sent }: Pick<Failed, 'established' | 'sent'>,
  ): unknown {
    const { closed, connectionPools } = this.#options;
    if (pendingCall.signal?.aborted === true) return pendingCall.signal.reason;
    if (closed.aborted) return this.#error(pendingCall, 'closed', sent, closed.reason);
    if (isDefect(error)) return error;
    if (!pendingCall.deadline.expired)
      return this.#error(pendingCall, reasonOf(error, established), sent, error);
    // The path to the server may be dead, and with it the idle connections: the next call should
    // not run into them.
    if (established) connectionPools.dropIdle();
    return this.#error(pendingCall, 'timeout', sent, error);
  }

  async #auth(pendingCall: PendingCall): Promise<RequestAuth> {
    try {
      return await orAborted(this.#options.credentials.auth(), pendingCall.deadline.signal);
    } catch (error) {
      if (pendingCall.deadline.signal.aborted)
        throw this.failure(pendingCall, error, { established: false, sent: false });
      throw isDefect(error) ? error : this.#error(pendingCall, 'credentials', false, error);
    }
  }

  async #carry(pendingCall: PendingCall, auth: RequestAuth): Promise<IncomingResponse> {
    const { connectionPools, credentials } = this.#options;
    // Called once: later, other calls may have come with newer certificates, whose pools these
    // would replace.
    const pools = connectionPools.for(auth.tls);
    const wire = this.#wire(pendingCall, auth, pools);
    let sent = await sendBy(pools, pendingCall, wire);
    if (sent.kind === 'failed' && mayGoAgain(pendingCall, sent)) {
      connectionPools.dropIdle();
      sent = await sendBy(pools, pendingCall, wire);
    }
    if (sent.kind === 'answered') return sent.response;
    const failure = this.failure(pendingCall, sent.error, sent);
    // Certificates that are not accepted may have been replaced in the meantime.
    if (failure instanceof ConnectionError && failure.reason === 'tls') credentials.renew(auth);
    throw failure;
  }

  #wire({ call, pool }: PendingCall, auth: RequestAuth, pools: Pools): WireInfo {
    const { server, userAgent } = this.#options;
    const body = requestBody(call);
    return {
      server,
      agent: pools[pool],
      method: call.method,
      path: requestPath(server, call),
      headers: requestHeaders(call, body, userAgent, auth.headers),
      body,
    };
  }

  #error(
    { call }: PendingCall,
    reason: FailureReason,
    mayHaveHappened: boolean,
    cause: unknown,
  ): ConnectionError {
    return new ConnectionError(
      { method: call.method, path: call.path, server: this.#options.server.origin },
      reason,
      mayHaveHappened,
      cause,
    );
  }
}

/** Sends a request; streams share connections where the server supports HTTP/2. */
async function sendBy(
  { http2 }: Pools,
  { pool, deadline: { signal } }: PendingCall,
  wire: WireInfo,
): Promise<Sent> {
  if (pool === 'calls' || http2 === undefined) return send(wire, signal);
  try {
    const room = await http2.take(signal);
    return room === undefined ? send(wire, signal) : sendAsStream(wire, room, signal);
  } catch (error) {
    return { kind: 'failed', error, established: false, sent: false, reused: false };
  }
}

/**
 * Returns whether to retry on a reused connection that the server has just closed: safe for reads,
 * and for requests that had not been sent yet (RFC 9110 9.2.2).
 */
function mayGoAgain({ call, deadline }: PendingCall, { error, reused, sent }: Failed): boolean {
  return (
    reused &&
    !deadline.signal.aborted &&
    reasonOf(error, true) === 'reset' &&
    (call.method === 'GET' || !sent)
  );
}
