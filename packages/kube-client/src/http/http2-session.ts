import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  IncomingHttpStatusHeader,
} from 'node:http2';
import type { Clock } from '@drydock/utils';
import type { Sent, WireInfo } from './exchange.ts';

/**
 * Capacity for one stream on a connection. The caller opens the stream or gives the capacity back.
 */
export type StreamCapacity = {
  readonly session: ClientHttp2Session;
  /**
   * Whether the connection had other streams before: the server may have closed it under this one.
   */
  readonly reused: boolean;
  /** Releases the capacity when the stream is over. Further calls have no effect. */
  readonly giveBack: () => void;
};

/**
 * Interval and time limit of pings on a connection with streams, in milliseconds, as in client-go.
 * Pending writes on a dead connection keep the kernel from sending its own probes.
 */
const pingEveryMs = 30_000;
const pingWithinMs = 15_000;

/** One HTTP/2 connection with its streams. */
export class Http2Session {
  readonly #http2: ClientHttp2Session;
  readonly #clock: Clock;
  #streams = 0;
  #used = false;
  #cancelPing: () => void = () => {};

  constructor(http2: ClientHttp2Session, clock: Clock) {
    this.#http2 = http2;
    this.#clock = clock;
    http2.once('close', () => this.#cancelPing());
  }

  /** Whether the connection takes another stream. */
  get hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#http2;
    return (
      !closed &&
      !destroyed &&
      this.#streams < (remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY)
    );
  }

  get isInUse(): boolean {
    return this.#streams > 0;
  }

  take(): StreamCapacity {
    const reused = this.#used;
    this.#used = true;
    this.#streams += 1;
    if (this.#streams === 1) {
      this.#http2.ref();
      this.#pingLater();
    }
    let isTaken = true;
    const giveBack = (): void => {
      if (!isTaken) return;
      isTaken = false;
      this.#streams -= 1;
      if (this.#streams === 0) this.#rest();
    };
    return { session: this.#http2, reused, giveBack };
  }

  /** Refuses new streams, and closes the connection when the last one has ended. */
  retire(): void {
    this.#http2.close();
  }

  /** Closes the connection at once. */
  destroy(): void {
    this.#http2.destroy();
  }

  /** Lets the process exit while the connection has no streams. */
  #rest(): void {
    this.#cancelPing();
    if (!this.#http2.destroyed) this.#http2.unref();
  }

  #pingLater(): void {
    this.#cancelPing = this.#clock.after(pingEveryMs, () => this.#ping());
  }

  #ping(): void {
    this.#cancelPing = this.#clock.after(pingWithinMs, () => {
      const silent = new Error(
        `the server has not answered a ping within ${pingWithinMs / 1000} s`,
      );
      this.#http2.destroy(Object.assign(silent, { code: 'ETIMEDOUT' }));
    });
    this.#http2.ping(error => {
      if (error !== null || !this.isInUse) return;
      this.#cancelPing();
      this.#pingLater();
    });
  }
}

/** Error code CANCEL (RFC 9113 7): the stream is no longer needed. */
const cancel = 8;

/**
 * Sends one request as `send` in `exchange.ts` does, as a stream of a shared HTTP/2 connection. For
 * requests without a body.
 */
export function sendAsStream(
  { method, path, headers }: WireInfo,
  room: StreamCapacity,
  signal: AbortSignal,
): Promise<Sent> {
  return new Promise(resolve => {
    const { session, reused, giveBack } = room;
    const fail = (error: unknown, sent: boolean): void =>
      resolve({ kind: 'failed', error, established: true, sent, reused });
    if (signal.aborted) {
      giveBack();
      return fail(signal.reason, false);
    }
    let stream: ClientHttp2Stream;
    try {
      stream = session.request(
        { ...(headers as Record<string, string | string[]>), ':method': method, ':path': path },
        { endStream: true },
      );
    } catch (error) {
      // The connection was closed at this moment, or a header cannot be sent.
      giveBack();
      return fail(error, false);
    }
    const abort = (): void => {
      stream.close(cancel);
      stream.destroy(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
    };
    signal.addEventListener('abort', abort);
    // Both sides have ended the stream: the server no longer counts it.
    stream.once('end', giveBack);
    stream.once('close', () => {
      signal.removeEventListener('abort', abort);
      giveBack();
      fail(new Error('the stream was closed before its answer'), true);
    });
    stream.once('response', (answer: IncomingHttpHeaders & IncomingHttpStatusHeader) => {
      const { ':status': status = 0, ...rest } = answer;
      resolve({ kind: 'answered', response: { status, headers: rest, body: stream } });
    });
    // Stays attached, as in `send`.
    stream.on('error', error => fail(error, true));
  });
}
