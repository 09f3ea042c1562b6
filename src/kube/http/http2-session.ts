import type { ClientHttp2Session } from 'node:http2';
import type { Clock } from '../../support/clock.ts';

/** Room for one stream on a connection. Whoever takes it makes the stream, or gives the room back. */
export type StreamCapacity = {
  readonly session: ClientHttp2Session;
  /** The connection had other streams before: it may have been closed under this one. */
  readonly reused: boolean;
  /** The stream is over. Called again, it does nothing. */
  readonly giveBack: () => void;
};

/**
 * A connection that has streams is asked for a sign of life so often, and has so long to give it; milliseconds, as in client-go. What is sent on a dead connection keeps the
 * kernel from asking by itself.
 */
const pingEveryMs = 30_000;
const pingWithinMs = 15_000;

/** One HTTP/2 connection, with what is on it. */
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

  /** It takes one stream more. */
  get hasRoom(): boolean {
    const { closed, destroyed, remoteSettings } = this.#http2;
    return !closed && !destroyed && this.#streams < (remoteSettings.maxConcurrentStreams ?? Number.POSITIVE_INFINITY);
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

  /** It takes no more streams, and is closed when the last one has ended. */
  retire(): void {
    this.#http2.close();
  }

  /** Cuts it. */
  destroy(): void {
    this.#http2.destroy();
  }

  /** With nothing to do, it keeps no program from ending. */
  #rest(): void {
    this.#cancelPing();
    if (!this.#http2.destroyed) this.#http2.unref();
  }

  #pingLater(): void {
    this.#cancelPing = this.#clock.after(pingEveryMs, () => this.#ping());
  }

  #ping(): void {
    this.#cancelPing = this.#clock.after(pingWithinMs, () => {
      const silent = new Error(`the server has not answered a ping within ${pingWithinMs / 1000} s`);
      this.#http2.destroy(Object.assign(silent, { code: 'ETIMEDOUT' }));
    });
    this.#http2.ping(error => {
      if (error !== null || !this.isInUse) return;
      this.#cancelPing();
      this.#pingLater();
    });
  }
}
