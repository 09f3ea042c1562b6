import { randomBytes } from 'node:crypto';
import type { Clock } from '@drydock/utils';
import type { Observer } from '../watch/observer.ts';
import { DeltaLog } from './delta-log.ts';
import { SseClient, type SseResponse, type StreamSource } from './sse-client.ts';

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
