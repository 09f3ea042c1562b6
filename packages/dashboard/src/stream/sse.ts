import { randomBytes } from 'node:crypto';
import type { Clock } from '@drydock/utils';
import type { Delta, Scene } from '../scene.ts';
import type { Observer } from '../watch/observer.ts';

/**
 * Limits of the deltas that are kept for clients that lag behind or reconnect; a new snapshot
 * replaces older ones.
 */
const maxEntries = 500;
const maxCharacters = 4_000_000;

type Entry = { readonly revision: number; readonly text: string };

/** Next message for a client. `forgotten`: the deltas that it missed are no longer kept. */
type Next = Entry | 'nothing' | 'forgotten';

/** A bounded log of the last deltas, each serialized once for all clients. */
export class DeltaLog {
  readonly #entries: Entry[] = [];
  #characters = 0;
  #revision = 0;

  /** Adds a delta; without one, all clients need a new snapshot. */
  add(revision: number, delta: Delta | undefined): void {
    if (delta === undefined) return this.#forget(revision);
    const text = JSON.stringify(delta);
    this.#revision = revision;
    this.#entries.push({ revision, text });
    this.#characters += text.length;
    while (this.#entries.length > maxEntries || this.#characters > maxCharacters) {
      this.#characters -= this.#entries.shift()?.text.length ?? 0;
    }
  }

  #forget(revision: number): void {
    this.#revision = revision;
    this.#entries.length = 0;
    this.#characters = 0;
  }

  /** Returns the message that follows a revision. */
  after(revision: number): Next {
    if (revision === this.#revision) return 'nothing';
    const first = this.#entries[0]?.revision;
    // A later revision is not from this log.
    if (first === undefined || revision > this.#revision) return 'forgotten';
    return this.#entries[revision + 1 - first] ?? 'forgotten';
  }
}

/** Milliseconds after which a client that reads nothing counts as gone. */
const patienceMs = 30_000;

/** The used part of a response. */
type SseResponse = {
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
        this.#send('scene', revision, JSON.stringify(scene));
      } else this.#send('delta', next.revision, next.text);
    }
  }

  /** Sends a heartbeat to a client that is not busy. */
  beat(): void {
    if (this.#giveUp === undefined) this.#write(': still here\n\n');
  }

  end(): void {
    this.#response.destroy();
  }

  #send(event: 'scene' | 'delta', revision: number, text: string): void {
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

/**
 * Milliseconds between heartbeats: proxies and browsers take a silent connection for a dead one.
 */
const beatMs = 15_000;

/** Limit of streams; each open page has one. */
const maxClients = 50;

/** All clients that follow the scene. */
export class SseClients {
  readonly #clock: Clock;
  readonly #source: StreamSource;
  readonly #clients = new Set<SseClient>();
  readonly #deafen: () => void;
  #stopBeat: () => void;

  constructor(observer: Observer, clock: Clock) {
    const deltaLog = new DeltaLog();
    this.#clock = clock;
    this.#source = {
      deltaLog,
      run: randomBytes(4).toString('hex'),
      snapshot: () => ({ revision: observer.revision, scene: observer.scene() }),
    };
    this.#deafen = observer.listen((revision, delta) => {
      deltaLog.add(revision, delta);
      for (const client of this.#clients) client.pump();
    });
    this.#stopBeat = clock.after(beatMs, () => this.#beat());
  }

  get full(): boolean {
    return this.#clients.size >= maxClients;
  }

  /** Adds a client until it closes. */
  add(response: SseResponse, lastEventId: string | undefined): void {
    const client = new SseClient(response, this.#source, this.#clock, lastEventId);
    this.#clients.add(client);
    response.on('close', () => this.#clients.delete(client));
  }

  end(): void {
    this.#deafen();
    this.#stopBeat();
    for (const client of this.#clients) client.end();
  }

  #beat(): void {
    for (const client of this.#clients) client.beat();
    this.#stopBeat = this.#clock.after(beatMs, () => this.#beat());
  }
}
