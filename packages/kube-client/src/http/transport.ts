import { type Clock, Deadline } from '@drydock/utils';
import type { Api, ApiCall, ApiResponse } from '../api.ts';
import type { Credentials } from './credentials.ts';
import { type IncomingResponse, pathTemplate, pauseAsked } from './exchange.ts';
import { ConnectionPools } from './http2-sessions.ts';
import { type PendingCall, RoundTripper } from './round-tripper.ts';

/** Priority of a call in the queue: see `ApiCall.lane`. */
type Priority = 'vital' | 'normal' | 'bulk';

type Waiting = { readonly admit: () => void };

/**
 * Limits concurrent calls. Bulk calls take at most three quarters of the places, bulk and normal
 * together seven eighths, so that a vital call always finds a free place. Within a lane, calls go
 * in order of arrival; normal and bulk alternate where both may go.
 */
class FlowControl {
  readonly #clock: Clock;
  readonly #places: number;
  readonly #queues: Readonly<Record<Priority, Set<Waiting>>> = {
    vital: new Set(),
    normal: new Set(),
    bulk: new Set(),
  };
  readonly #busy: Record<Priority, number> = { vital: 0, normal: 0, bulk: 0 };
  #heldUntilMs = 0;
  #wake: (() => void) | undefined;
  #bulkIsNext = false;

  /** Creates a limiter; `places` is the number of concurrent calls. */
  constructor(clock: Clock, places: number) {
    this.#clock = clock;
    this.#places = places;
  }

  /**
   * Resolves when the call may be sent, with a function to call when it is over. Rejects with the
   * signal's reason.
   */
  enter(priority: Priority, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const leaveQueue = (): void => {
        this.#queues[priority].delete(waiting);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        admit: () => {
          signal.removeEventListener('abort', leaveQueue);
          resolve(this.#admitted(priority));
        },
      };
      signal.addEventListener('abort', leaveQueue);
      this.#queues[priority].add(waiting);
      this.#pump();
    });
  }

  /**
   * Delays normal and bulk calls by this time, as the server requested. Does not shorten a longer
   * delay.
   */
  holdFor(milliseconds: number): void {
    const until = this.#nowMs() + milliseconds;
    if (until <= this.#heldUntilMs) return;
    this.#heldUntilMs = until;
    this.#wake?.();
    this.#wake = this.#clock.after(milliseconds, () => this.#pump());
  }

  /** Cancels the timer. */
  close(): void {
    this.#wake?.();
  }

  #admitted(priority: Priority): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#busy[priority] -= 1;
      this.#pump();
    };
  }

  #pump(): void {
    for (
      let priority = this.#nextPriority();
      priority !== undefined;
      priority = this.#nextPriority()
    ) {
      const [first] = this.#queues[priority];
      if (first === undefined) return;
      this.#queues[priority].delete(first);
      this.#busy[priority] += 1;
      first.admit();
    }
  }

  #nextPriority(): Priority | undefined {
    if (this.#mayGo('vital')) return 'vital';
    if (this.#nowMs() < this.#heldUntilMs) return undefined;
    const order: readonly Priority[] = this.#bulkIsNext ? ['bulk', 'normal'] : ['normal', 'bulk'];
    const priority = order.find(priority => this.#mayGo(priority));
    if (priority !== undefined) this.#bulkIsNext = priority === 'normal';
    return priority;
  }

  #mayGo(priority: Priority): boolean {
    const { vital, normal, bulk } = this.#busy;
    if (this.#queues[priority].size === 0 || vital + normal + bulk >= this.#places) return false;
    if (priority === 'vital') return true;
    if (normal + bulk >= Math.max(1, Math.floor((this.#places * 7) / 8))) return false;
    return priority === 'normal' || bulk < Math.max(1, Math.floor((this.#places * 3) / 4));
  }

  #nowMs(): number {
    return this.#clock.now().epochMilliseconds;
  }
}

/** One finished call, for metrics. */
export type FinishedCall = {
  readonly method: string;
  /** Path without names: `/api/v1/nodes/{name}`. */
  readonly path: string;
  /** HTTP status; undefined when no response arrived. */
  readonly status: number | undefined;
  /** Seconds from the call to the response (for a watch: to its head), queueing included. */
  readonly seconds: number;
  readonly priority: Priority | 'watch';
};

/** Options for reaching one API server. */
export type TransportOptions = {
  /** URL, for example `https://10.0.0.1:6443`; a path in it is a prefix of every call's path. */
  readonly server: string;
  readonly credentials: Pick<Credentials, 'auth' | 'renew'>;
  /** User agent, for example `drydock/1.0`. */
  readonly userAgent: string;
  readonly clock: Clock;
  /** URL of the HTTP proxy for all connections. */
  readonly proxy?: string | undefined;
  /** Whether watches share HTTP/2 connections if the server supports it; true when left out. */
  readonly http2?: boolean;
  /** Limit of concurrent calls; 32 when left out. Watches are not counted. */
  readonly places?: number;
  /**
   * Callback for the Date of every response, with the times of `clock` at which the request was
   * sent and the response arrived. Must not throw.
   */
  readonly onDate?:
    | ((date: string | undefined, sentAt: Temporal.Instant, answeredAt: Temporal.Instant) => void)
    | undefined;
  /** Callback for every finished call. Must not throw. */
  readonly onResponse?: ((seen: FinishedCall) => void) | undefined;
};

/** Request for a stream; always a GET. */
export type StreamRequest = Pick<ApiCall, 'path' | 'query' | 'accept' | 'timeoutMs'>;

/** An open stream, or a response that refuses it. */
export type StreamResponse =
  | { readonly kind: 'open'; readonly chunks: AsyncIterable<Uint8Array> }
  | { readonly kind: 'refused'; readonly response: ApiResponse };

/** Opener of streams: the part of the transport that watches need. */
export interface Streams {
  /**
   * Opens a stream; resolves with the head of the response. `timeoutMs` (30,000 when left out)
   * counts until then. The signal closes the stream at any time. Rejects like `Api.call`.
   */
  stream(request: StreamRequest, signal: AbortSignal): Promise<StreamResponse>;
}

const defaultTimeoutMs = 30_000;

/**
 * Client of one API server over keep-alive connections: HTTP/1.1 for calls, HTTP/2 for watches
 * where the server supports it.
 *
 * - A read is retried once when the server closed a reused connection under it; a change only when
 *   nothing of it was sent.
 * - After a 401, the client renews the credentials and retries once if they have changed.
 * - When the server requests a pause (`retry-after.ts`), normal and bulk calls wait; vital ones do
 *   not.
 */
export class Transport implements Api, Streams {
  readonly #options: TransportOptions;
  readonly #flowControl: FlowControl;
  readonly #connectionPools: ConnectionPools;
  readonly #roundTripper: RoundTripper;
  readonly #closed = new AbortController();

  constructor(options: TransportOptions) {
    this.#options = options;
    const { places = 32, credentials, userAgent } = options;
    const server = new URL(options.server);
    const { clock, proxy, http2 = true } = options;
    this.#flowControl = new FlowControl(clock, places);
    this.#connectionPools = new ConnectionPools({ server, clock, places, proxy, http2 });
    this.#roundTripper = new RoundTripper({
      server,
      connectionPools: this.#connectionPools,
      credentials,
      userAgent,
      closed: this.#closed.signal,
    });
  }

  /** See `Api.call`. The time limit starts with the call, so it includes queueing. */
  async call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse> {
    using deadline = this.#deadline(call, signal);
    const pendingCall: PendingCall = { call, pool: 'calls', deadline, signal };
    // Awaited here; otherwise the deadline would be disposed of before it can expire.
    return await this.#observed(
      pendingCall,
      response => response.status,
      async () => {
        const leave = await this.#place(pendingCall);
        try {
          const response = await this.#roundTripper.read(
            pendingCall,
            await this.#fetch(pendingCall),
          );
          const pause = pauseAsked(response, this.#options.clock.now());
          if (pause !== undefined) this.#flowControl.holdFor(pause);
          return response;
        } finally {
          leave();
        }
      },
    );
  }

  /** See `Streams.stream`. */
  async stream(request: StreamRequest, signal: AbortSignal): Promise<StreamResponse> {
    const call: ApiCall = { method: 'GET', ...request };
    const deadline = this.#deadline(call, signal);
    try {
      return await this.#observed(
        { call, pool: 'streams', deadline, signal },
        statusOf,
        pendingCall => this.#open(pendingCall),
      );
    } catch (error) {
      deadline[Symbol.dispose]();
      throw error;
    }
  }

  /** Closes every connection; in-flight, queued and later calls reject with a `ConnectionError`. */
  close(): void {
    this.#closed.abort(new Error('this connection was closed'));
    this.#flowControl.close();
    this.#connectionPools.close();
  }

  async #fetch(pendingCall: PendingCall): Promise<IncomingResponse> {
    const { clock, onDate } = this.#options;
    const sentAt = clock.now();
    const incoming = await this.#roundTripper.fetch(pendingCall);
    onDate?.(incoming.headers.date, sentAt, clock.now());
    return incoming;
  }

  async #open(pendingCall: PendingCall): Promise<StreamResponse> {
    const incoming = await this.#fetch(pendingCall);
    if (incoming.status === 200) {
      pendingCall.deadline.lift();
      incoming.body.once('close', () => pendingCall.deadline[Symbol.dispose]());
      return { kind: 'open', chunks: incoming.body };
    }
    const response = await this.#roundTripper.read(pendingCall, incoming);
    pendingCall.deadline[Symbol.dispose]();
    return { kind: 'refused', response };
  }

  #deadline(call: ApiCall, signal: AbortSignal | undefined): Deadline {
    signal?.throwIfAborted();
    return new Deadline(this.#options.clock, call.timeoutMs ?? defaultTimeoutMs, [
      signal,
      this.#closed.signal,
    ]);
  }

  async #place(pendingCall: PendingCall): Promise<() => void> {
    try {
      return await this.#flowControl.enter(
        pendingCall.call.priority ?? 'normal',
        pendingCall.deadline.signal,
      );
    } catch (error) {
      throw this.#roundTripper.failure(pendingCall, error, { established: false, sent: false });
    }
  }

  async #observed<T>(
    pendingCall: PendingCall,
    statusOf: (result: T) => number,
    work: (pendingCall: PendingCall) => Promise<T>,
  ): Promise<T> {
    const began = this.#nowMs();
    let status: number | undefined;
    try {
      const result = await work(pendingCall);
      status = statusOf(result);
      return result;
    } finally {
      const { call, pool } = pendingCall;
      const seconds = (this.#nowMs() - began) / 1000;
      const priority = pool === 'streams' ? 'watch' : (call.priority ?? 'normal');
      this.#options.onResponse?.({
        method: call.method,
        path: pathTemplate(call.path),
        status,
        seconds,
        priority,
      });
    }
  }

  #nowMs(): number {
    return this.#options.clock.now().epochMilliseconds;
  }
}

function statusOf(response: StreamResponse): number {
  return response.kind === 'open' ? 200 : response.response.status;
}
