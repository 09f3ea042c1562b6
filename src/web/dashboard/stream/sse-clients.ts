import { randomBytes } from 'node:crypto';
import type { Clock } from '../../../support/clock.ts';
import type { Observer } from '../watch/observer.ts';
import { Journal } from './delta-log.ts';
import { Reader, type Sink, type Source } from './sse-client.ts';

/** Proxies and browsers take a silent connection for a dead one. */
const beatMs = 15_000;

/** One stream a page; nobody has this many open. */
const mostReaders = 50;

/** Everybody who follows the scene at the moment. */
export class Readers {
  readonly #clock: Clock;
  readonly #source: Source;
  readonly #readers = new Set<Reader>();
  readonly #deafen: () => void;
  #stopBeat: () => void;

  constructor(observer: Observer, clock: Clock) {
    const journal = new Journal();
    this.#clock = clock;
    this.#source = {
      journal,
      run: randomBytes(4).toString('hex'),
      snapshot: () => ({ revision: observer.revision, scene: observer.scene() }),
    };
    this.#deafen = observer.listen((revision, delta) => {
      journal.add(revision, delta);
      for (const reader of this.#readers) reader.pump();
    });
    this.#stopBeat = clock.after(beatMs, () => this.#beat());
  }

  get full(): boolean {
    return this.#readers.size >= mostReaders;
  }

  /** Begins to tell one more reader, until it closes. */
  add(sink: Sink, lastEventId: string | undefined): void {
    const reader = new Reader(sink, this.#source, this.#clock, lastEventId);
    this.#readers.add(reader);
    sink.on('close', () => this.#readers.delete(reader));
  }

  end(): void {
    this.#deafen();
    this.#stopBeat();
    for (const reader of this.#readers) reader.end();
  }

  #beat(): void {
    for (const reader of this.#readers) reader.beat();
    this.#stopBeat = this.#clock.after(beatMs, () => this.#beat());
  }
}
