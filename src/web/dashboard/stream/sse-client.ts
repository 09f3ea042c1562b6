import type { Clock } from '../../../support/clock.ts';
import type { Scene } from '../scene.ts';
import type { DeltaLog } from './delta-log.ts';

/** A reader that takes nothing for so long is gone, or as good as gone. */
const patienceMs = 30_000;

/** Where a reader's text goes: the part of a response that is used. */
export type SseResponse = {
  /** false: enough for now, until `drain`. */
  write(text: string): boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  destroy(): unknown;
};

/** Everything that is told to readers, and under which name. */
export type StreamSource = {
  readonly deltaLog: DeltaLog;
  /** Sets this run of the server apart from others: their revisions mean nothing here. */
  readonly run: string;
  readonly snapshot: () => { readonly revision: number; readonly scene: Scene };
};

/** The revision that a `Last-Event-ID` of this run speaks of. */
const revisionIn = (id: string | undefined, run: string): number | undefined => {
  const [of, revision] = (id ?? '').split('.');
  return of === run && revision !== undefined && /^\d+$/.test(revision) ? Number(revision) : undefined;
};

/**
 * One open stream of server-sent events: a `scene`, then every `delta`. It is given the next message only when it has taken the last one, so
 * that a slow reader costs one message of memory; what it missed beyond the journal comes as a new scene.
 */
export class SseClient {
  readonly #response: SseResponse;
  readonly #source: StreamSource;
  readonly #clock: Clock;
  #revision: number | undefined;
  #giveUp: (() => void) | undefined;

  constructor(response: SseResponse, source: StreamSource, clock: Clock, lastEventId: string | undefined) {
    this.#response = response;
    this.#source = source;
    this.#clock = clock;
    this.#revision = revisionIn(lastEventId, source.run);
    response.on('drain', () => this.#taken());
    response.on('close', () => this.#giveUp?.());
    this.pump();
  }

  /** Tells everything that there is to tell, as far as the reader takes it. */
  pump(): void {
    while (this.#giveUp === undefined) {
      const next = this.#revision === undefined ? 'forgotten' : this.#source.deltaLog.after(this.#revision);
      if (next === 'nothing') return;
      if (next === 'forgotten') {
        const { revision, scene } = this.#source.snapshot();
        this.#tell('scene', revision, JSON.stringify(scene));
      } else this.#tell('delta', next.revision, next.text);
    }
  }

  /** Says that the server is still there, to a reader that is not busy. */
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
