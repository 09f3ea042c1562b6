import type { Clock } from '@drydock/utils';
import type { Scene } from '../scene.ts';
import type { DeltaLog } from './delta-log.ts';

/** Milliseconds after which a client that reads nothing counts as gone. */
const patienceMs = 30_000;

/** The used part of a response. */
export type SseResponse = {
  /** Writes text; false means that the buffer is full until `drain`. */
  write(text: string): boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  destroy(): unknown;
};

/** Source of the messages for clients. */
export type StreamSource = {
  readonly deltaLog: DeltaLog;
  /** Identifier of this server process: revisions of others mean nothing here. */
  readonly run: string;
  readonly snapshot: () => { readonly revision: number; readonly scene: Scene };
};

/** Returns the revision in a `Last-Event-ID` of this run. */
function revisionIn(id: string | undefined, run: string): number | undefined {
  const [of, revision] = (id ?? '').split('.');
  return of === run && revision !== undefined && /^\d+$/.test(revision)
    ? Number(revision)
    : undefined;
}

/**
 * One open stream of server-sent events: a `scene`, then every `delta`. The next message is sent
 * only when the client has read the last one, so that a slow client costs one message of memory;
 * deltas that it missed beyond the log are replaced by a new scene.
 */
export class SseClient {
  readonly #response: SseResponse;
  readonly #source: StreamSource;
  readonly #clock: Clock;
  #revision: number | undefined;
  #giveUp: (() => void) | undefined;

  constructor(
    response: SseResponse,
    source: StreamSource,
    clock: Clock,
    lastEventId: string | undefined,
  ) {
    this.#response = response;
    this.#source = source;
    this.#clock = clock;
    this.#revision = revisionIn(lastEventId, source.run);
    response.on('drain', () => this.#taken());
    response.on('close', () => this.#giveUp?.());
    this.pump();
  }

  /** Sends all pending messages, as far as the client reads them. */
  pump(): void {
    while (this.#giveUp === undefined) {
      const next =
        this.#revision === undefined ? 'forgotten' : this.#source.deltaLog.after(this.#revision);
      if (next === 'nothing') return;
      if (next === 'forgotten') {
        const { revision, scene } = this.#source.snapshot();
        this.#tell('scene', revision, JSON.stringify(scene));
      } else this.#tell('delta', next.revision, next.text);
    }
  }

  /** Sends a heartbeat to a client that is not busy. */
  beat(): void {
    if (this.#giveUp === undefined) this.#write(': still here\n\n');
  }

  end(): void {
    this.#response.destroy();
  }

  #tell(event: 'scene' | 'delta', revision: number, text: string): void {
    this.#revision = revision;
    this.#write(`event: ${event}\nid: ${this.#source.run}.${revision}\ndata: ${text}\n\n`);
  }

  #write(text: string): void {
    if (this.#response.write(text)) return;
    this.#giveUp ??= this.#clock.after(patienceMs, () => this.#response.destroy());
  }

  #taken(): void {
    this.#giveUp?.();
    this.#giveUp = undefined;
    this.pump();
  }
}
