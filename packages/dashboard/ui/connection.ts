import { type Signal, signal } from '@preact/signals';
import type { Delta, Scene } from '../src/scene.ts';
import { credentials, token } from './link.ts';
import { type Message, MessageReader } from './model/sse.ts';

/**
 * State of the connection. `locked`: the token is missing or wrong. `refused`: the server does not
 * serve this page here.
 */
export type ConnectionState =
  | { readonly kind: 'connecting' | 'live' | 'locked' }
  | { readonly kind: 'reconnecting' | 'refused'; readonly message: string };

/** Milliseconds of silence after which the server counts as gone; it sends something every 15 s. */
const silenceMs = 40_000;
const firstPauseMs = 400;
const maxPauseMs = 8000;

type SceneUpdates = {
  readonly replace: (scene: Scene) => void;
  readonly apply: (delta: Delta) => void;
};

function pause(milliseconds: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, milliseconds));
}

/** Resolves when the user opens a link with another token in this page. */
function nextToken(): Promise<void> {
  return new Promise(resolve => {
    const before = token.peek();
    const stop = token.subscribe(now => {
      if (now === before) return;
      queueMicrotask(() => stop());
      resolve();
    });
  });
}

/** Aborts after too long a silence. */
class IdleTimeout {
  readonly #controller = new AbortController();
  #timer = 0;

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  heard(): void {
    this.end();
    this.#timer = setTimeout(
      () => this.#controller.abort(new Error('the server stopped responding')),
      silenceMs,
    );
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Follows the scene as long as the dashboard is open, through all failures. */
export class Follower {
  readonly state: Signal<ConnectionState> = signal({ kind: 'connecting' });
  readonly #told: SceneUpdates;
  #lastId = '';
  #failures = 0;

  constructor(told: SceneUpdates) {
    this.#told = told;
  }

  async run(): Promise<never> {
    for (;;) {
      const why = await this.#follow().catch((error: unknown) =>
        error instanceof Error ? error.message : String(error),
      );
      if (this.state.value.kind === 'locked') await nextToken();
      else await this.#wait(why ?? 'the server closed the connection');
    }
  }

  async #wait(message: string): Promise<void> {
    if (this.state.value.kind !== 'refused') this.state.value = { kind: 'reconnecting', message };
    const longest = Math.min(firstPauseMs * 2 ** this.#failures, maxPauseMs);
    this.#failures += 1;
    await pause(longest * (0.5 + Math.random() / 2));
  }

  /** Follows until the stream ends; rejects with its error. */
  async #follow(): Promise<undefined> {
    const patience = new IdleTimeout();
    patience.heard();
    try {
      const last = this.#lastId === '' ? {} : { 'last-event-id': this.#lastId };
      const response = await fetch('/api/stream', {
        headers: { ...credentials(), ...last },
        cache: 'no-store',
        signal: patience.signal,
      });
      if (response.status === 401) {
        this.state.value = { kind: 'locked' };
        return undefined;
      }
      if (!response.ok || response.body === null) return await this.#refused(response);
      this.state.value = { kind: 'live' };
      const reader = new MessageReader();
      for await (const piece of pieces(response.body)) {
        patience.heard();
        this.#failures = 0;
        for (const message of reader.read(piece)) this.#heard(message);
      }
      return undefined;
    } finally {
      patience.end();
    }
  }

  async #refused(response: Response): Promise<undefined> {
    const body = (await response.json()) as { readonly message?: string };
    this.state.value = { kind: 'refused', message: body.message ?? `HTTP ${response.status}` };
    return undefined;
  }

  #heard({ event, id, data }: Message): void {
    if (event === 'scene') this.#told.replace(JSON.parse(data) as Scene);
    else this.#told.apply(JSON.parse(data) as Delta);
    this.#lastId = id;
  }
}

/** Yields the text of a stream; not every browser can iterate over one. */
async function* pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield decoder.decode(value, { stream: true });
  }
}
