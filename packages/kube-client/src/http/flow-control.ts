import type { Clock } from '@drydock/utils';

/** Priority of a call in the queue: see `ApiCall.lane`. */
export type Priority = 'vital' | 'normal' | 'bulk';

type Waiting = { readonly admit: () => void };

/**
 * Limits concurrent calls. Bulk calls take at most three quarters of the places, bulk and normal
 * together seven eighths, so that a vital call always finds a free place. Within a lane, calls go
 * in order of arrival; normal and bulk alternate where both may go.
 */
export class FlowControl {
  readonly #clock: Clock;
  readonly #places: number;
  readonly #queues: Readonly<Record<Priority, Set<Waiting>>> = {
    vital: new Set(),
    normal: new Set(),
    bulk: new Set(),
  };
  readonly #busy: Record<Priority, number> = { vital: 0, normal: 0, bulk: 0 };
  #heldUntilMs = 0;
  #wake: (() => void) | undefined;
  #bulkIsNext = false;

  /** Creates a limiter; `places` is the number of concurrent calls. */
  constructor(clock: Clock, places: number) {
    this.#clock = clock;
    this.#places = places;
  }

  /**
   * Resolves when the call may be sent, with a function to call when it is over. Rejects with the
   * signal's reason.
   */
  enter(priority: Priority, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const leaveQueue = (): void => {
        this.#queues[priority].delete(waiting);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        admit: () => {
          signal.removeEventListener('abort', leaveQueue);
          resolve(this.#admitted(priority));
        },
      };
      signal.addEventListener('abort', leaveQueue);
      this.#queues[priority].add(waiting);
      this.#pump();
    });
  }

  /**
   * Delays normal and bulk calls by this time, as the server requested. Does not shorten a longer
   * delay.
   */
  holdFor(milliseconds: number): void {
    const until = this.#nowMs() + milliseconds;
    if (until <= this.#heldUntilMs) return;
    this.#heldUntilMs = until;
    this.#wake?.();
    this.#wake = this.#clock.after(milliseconds, () => this.#pump());
  }

  /** Cancels the timer. */
  close(): void {
    this.#wake?.();
  }

  #admitted(priority: Priority): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#busy[priority] -= 1;
      this.#pump();
    };
  }

  #pump(): void {
    for (
      let priority = this.#nextPriority();
      priority !== undefined;
      priority = this.#nextPriority()
    ) {
      const [first] = this.#queues[priority];
      if (first === undefined) return;
      this.#queues[priority].delete(first);
      this.#busy[priority] += 1;
      first.admit();
    }
  }

  #nextPriority(): Priority | undefined {
    if (this.#mayGo('vital')) return 'vital';
    if (this.#nowMs() < this.#heldUntilMs) return undefined;
    const order: readonly Priority[] = this.#bulkIsNext ? ['bulk', 'normal'] : ['normal', 'bulk'];
    const priority = order.find(priority => this.#mayGo(priority));
    if (priority !== undefined) this.#bulkIsNext = priority === 'normal';
    return priority;
  }

  #mayGo(priority: Priority): boolean {
    const { vital, normal, bulk } = this.#busy;
    if (this.#queues[priority].size === 0 || vital + normal + bulk >= this.#places) return false;
    if (priority === 'vital') return true;
    if (normal + bulk >= Math.max(1, Math.floor((this.#places * 7) / 8))) return false;
    return priority === 'normal' || bulk < Math.max(1, Math.floor((this.#places * 3) / 4));
  }

  #nowMs(): number {
    return this.#clock.now().epochMilliseconds;
  }
}
