import type { Clock } from '../../support/clock.ts';
import type { Change } from '../store/store.ts';
import type { Cluster, Controller } from './controller.ts';

/** How long after a change its controllers look: as long as a real one's watch takes to tell it, in milliseconds. */
const latencyMs = 2;

type QueuedKey = { readonly controller: Controller; readonly key: string };

/** Runs controllers: one key at a time, in the order in which they were concerned, on the clock of the cluster. */
export class ControllerRunner {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #controllers: readonly Controller[];
  readonly #waiting = new Map<string, QueuedKey>();
  readonly #later = new Map<string, () => void>();
  /** What is being looked at. */
  #current: QueuedKey | undefined;
  #scheduled: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(cluster: Cluster, clock: Clock, controllers: readonly Controller[]) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#controllers = controllers;
  }

  /** Follows everything from now on. What is there already has to be told by `touch`. */
  start(): void {
    this.#unsubscribe = this.#cluster.store.subscribe(change => this.#told(change));
  }

  /** Has every controller look at what a change would concern: for objects that were there before the start. */
  touch(change: Change): void {
    this.#told(change);
  }

  /** Looks at nothing any more. */
  stop(): void {
    this.#unsubscribe?.();
    this.#scheduled?.();
    for (const cancel of this.#later.values()) cancel();
    this.#waiting.clear();
    this.#later.clear();
  }

  #told(change: Change): void {
    for (const controller of this.#controllers) {
      for (const key of controller.keysOf(change, this.#cluster)) {
        if (!this.#isOwn(change, controller, key)) this.#want({ controller, key });
      }
    }
  }

  #isOwn({ resource }: Change, controller: Controller, key: string): boolean {
    return controller.settles === resource && this.#current?.controller === controller && this.#current.key === key;
  }

  #want(wish: QueuedKey): void {
    const id = `${wish.controller.name} ${wish.key}`;
    if (this.#waiting.has(id)) return;
    this.#waiting.set(id, wish);
    this.#scheduled ??= this.#clock.after(latencyMs, () => this.#work());
  }

  /** What the work itself brings about is looked at in the next round. */
  #work(): void {
    this.#scheduled = undefined;
    const round = [...this.#waiting];
    this.#waiting.clear();
    for (const [id, wish] of round) {
      this.#later.get(id)?.();
      this.#later.delete(id);
      this.#current = wish;
      const again = wish.controller.reconcile(wish.key, this.#cluster);
      this.#current = undefined;
      if (again !== undefined)
        this.#later.set(
          id,
          this.#clock.after(again, () => this.#want(wish)),
        );
    }
  }
}
