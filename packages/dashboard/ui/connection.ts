import { computed, type Signal, signal } from '@preact/signals';
import type {
  Delta,
  HoldView,
  MachineView,
  PlanApprovalView,
  PlanSummary,
  Scene,
} from '../src/scene.ts';
import { DashboardStore, type Message, MessageReader } from './model/store.ts';
import { credentials, expectMove, type OrderResult, token } from './orders.ts';

/**
 * State of the connection. `locked`: the token is missing or wrong. `refused`: the server does not
 * serve this page here.
 */
type ConnectionState =
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
class Follower {
  readonly state: Signal<ConnectionState> = signal({ kind: 'connecting' });
  readonly #updates: SceneUpdates;
  #lastId = '';
  #failures = 0;

  constructor(updates: SceneUpdates) {
    this.#updates = updates;
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
    if (event === 'scene') this.#updates.replace(JSON.parse(data) as Scene);
    else this.#updates.apply(JSON.parse(data) as Delta);
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

/** State of this page. */

export const store = new DashboardStore(Date.now, expectMove);
export const follower = new Follower({
  replace: scene => store.replace(scene),
  apply: delta => store.apply(delta),
});

/** Node whose details are open. */
export const selected = signal<string | undefined>(undefined);

export type OpenDialog =
  | { readonly kind: 'maintain'; readonly node: string }
  | { readonly kind: 'release'; readonly node: string; readonly hold: HoldView }
  | { readonly kind: 'approve'; readonly node: string; readonly machine: MachineView }
  | { readonly kind: 'resume-plan'; readonly plan: PlanSummary }
  | {
      readonly kind: 'approve-plan';
      readonly plan: PlanSummary;
      readonly approval: PlanApprovalView;
    };

/** Open dialog. */
export const asking = signal<OpenDialog | undefined>(undefined);

/** Result of the last order. */
export const notice = signal<OrderResult | undefined>(undefined);

/** Text of the search for nodes. */
export const search = signal('');

/** Current time, updated once a second, for all durations. */
export const now = signal(Date.now());

/** Whether the screen has no room for two columns. */
export const narrow = signal(false);

/** Whether the cluster is so large that its pods are counted and not drawn. */
export const condensed = computed(() => store.facts.value?.counted === true);

export const mayAct = computed(() => store.facts.value?.access === 'link');

const noticeMs = 8000;
const hiding = { timer: 0 };

export function notify(result: OrderResult): void {
  notice.value = result;
  clearTimeout(hiding.timer);
  hiding.timer = setTimeout(() => {
    notice.value = undefined;
  }, noticeMs);
}

function idOf(node: string): string {
  return `node-${node}`;
}

export function open(node: string): void {
  selected.value = node;
}

/** Closes the details, and returns the focus to their node. */
export function close(): void {
  const { value } = selected;
  selected.value = undefined;
  if (value !== undefined) document.getElementById(idOf(value))?.focus();
}
