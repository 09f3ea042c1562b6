import type { Clock } from '../../support/clock.ts';

/** Who waits for whom: see `ApiCall.lane`. */
export type Lane = 'vital' | 'normal' | 'bulk';

type Waiting = { readonly admit: () => void };

/**
 * Shares out the places on the wire. Bulk calls take at most three quarters of them, bulk and normal together seven eighths, so that a
 * vital call always finds one. First come, first served within a lane; normal and bulk take turns where both could go.
 */
export class Lanes {
  readonly #clock: Clock;
  readonly #places: number;
  readonly #queues: Readonly<Record<Lane, Set<Waiting>>> = { vital: new Set(), normal: new Set(), bulk: new Set() };
  readonly #busy: Record<Lane, number> = { vital: 0, normal: 0, bulk: 0 };
  #heldUntilMs = 0;
  #wake: (() => void) | undefined;
  #bulkIsNext = false;

  /** `places` is the number of calls that may be on the wire at one time. */
  constructor(clock: Clock, places: number) {
    this.#clock = clock;
    this.#places = places;
  }

  /** Resolves when the call may go out, with the function to be called when it is over. Rejects with the signal's reason. */
  enter(lane: Lane, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const leaveQueue = (): void => {
        this.#queues[lane].delete(waiting);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        admit: () => {
          signal.removeEventListener('abort', leaveQueue);
          resolve(this.#admitted(lane));
        },
      };
      signal.addEventListener('abort', leaveQueue);
      this.#queues[lane].add(waiting);
      this.#pump();
    });
  }

  /** Keeps normal and bulk calls back for so long, as the server asked. A longer wait that already stands is not shortened. */
  holdFor(milliseconds: number): void {
    const until = this.#nowMs() + milliseconds;
    if (until <= this.#heldUntilMs) return;
    this.#heldUntilMs = until;
    this.#wake?.();
    this.#wake = this.#clock.after(milliseconds, () => this.#pump());
  }

  /** Lets go of the timer. */
  close(): void {
    this.#wake?.();
  }

  #admitted(lane: Lane): () => void {
    let left = false;
    return () => {
      if (left) return;
      left = true;
      this.#busy[lane] -= 1;
      this.#pump();
    };
  }

  #pump(): void {
    for (let lane = this.#nextLane(); lane !== undefined; lane = this.#nextLane()) {
      const [first] = this.#queues[lane];
      if (first === undefined) return;
      this.#queues[lane].delete(first);
      this.#busy[lane] += 1;
      first.admit();
    }
  }

  #nextLane(): Lane | undefined {
    if (this.#mayGo('vital')) return 'vital';
    if (this.#nowMs() < this.#heldUntilMs) return undefined;
    const order: readonly Lane[] = this.#bulkIsNext ? ['bulk', 'normal'] : ['normal', 'bulk'];
    const lane = order.find(lane => this.#mayGo(lane));
    if (lane !== undefined) this.#bulkIsNext = lane === 'normal';
    return lane;
  }

  #mayGo(lane: Lane): boolean {
    const { vital, normal, bulk } = this.#busy;
    if (this.#queues[lane].size === 0 || vital + normal + bulk >= this.#places) return false;
    if (lane === 'vital') return true;
    if (normal + bulk >= Math.max(1, Math.floor((this.#places * 7) / 8))) return false;
    return lane === 'normal' || bulk < Math.max(1, Math.floor((this.#places * 3) / 4));
  }

  #nowMs(): number {
    return this.#clock.now().epochMilliseconds;
  }
}
