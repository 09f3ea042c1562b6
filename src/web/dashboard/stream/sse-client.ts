import type { Clock } from '../../../support/clock.ts';
import type { Scene } from '../scene.ts';
import type { Journal } from './delta-log.ts';

/** A reader that takes nothing for so long is gone, or as good as gone. */
const patienceMs = 30_000;

/** Where a reader's text goes: the part of a response that is used. */
export type Sink = {
  /** false: enough for now, until `drain`. */
  write(text: string): boolean;
  on(event: 'drain' | 'close', listener: () => void): unknown;
  destroy(): unknown;
};

/** Everything that is told to readers, and under which name. */
export type Source = {
  readonly journal: Journal;
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
export class Reader {
  readonly #sink: Sink;
  readonly #source: Source;
  readonly #clock: Clock;
  #revision: number | undefined;
  #giveUp: (() => void) | undefined;

  constructor(sink: Sink, source: Source, clock: Clock, lastEventId: string | undefined) {
    this.#sink = sink;
    this.#source = source;
    this.#clock = clock;
    this.#revision = revisionIn(lastEventId, source.run);
    sink.on('drain', () => this.#taken());
    sink.on('close', () => this.#giveUp?.());
    this.pump();
  }

  /** Tells everything that there is to tell, as far as the reader takes it. */
  pump(): void {
    while (this.#giveUp === undefined) {
      const next = this.#revision === undefined ? 'forgotten' : this.#source.journal.after(this.#revision);
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
    this.#sink.destroy();
  }

  #tell(event: 'scene' | 'delta', revision: number, text: string): void {
    this.#revision = revision;
    this.#write(`event: ${event}\nid: ${this.#source.run}.${revision}\ndata: ${text}\n\n`);
  }

  #write(text: string): void {
    if (this.#sink.write(text)) return;
    this.#giveUp ??= this.#clock.after(patienceMs, () => this.#sink.destroy());
  }

  #taken(): void {
    this.#giveUp?.();
    this.#giveUp = undefined;
    this.pump();
  }
}
