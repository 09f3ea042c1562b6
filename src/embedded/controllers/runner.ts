import type { Clock } from '../../support/clock.ts';
import type { Change } from '../store/store.ts';
import type { Cluster, Controller } from './controller.ts';

/** How long after a change its controllers look: as long as a real one's watch takes to tell it, in milliseconds. */
const latencyMs = 2;

type Wish = { readonly desk: Desk; readonly key: string };

/** What there is of one controller. */
type Desk = {
  readonly controller: Controller;
  /** Keys that wait to be looked at. */
  readonly waiting: Set<string>;
  /** Those to be looked at again at some time: what calls that off. */
  readonly later: Map<string, () => void>;
};

/** Runs controllers: one key at a time, in the order in which they were concerned, on the clock of the cluster. */
export class ControllerRunner {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  readonly #desks: readonly Desk[];
  #waiting: Wish[] = [];
  /** What is being looked at. */
  #current: Wish | undefined;
  #scheduled: (() => void) | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(cluster: Cluster, clock: Clock, controllers: readonly Controller[]) {
    this.#cluster = cluster;
    this.#clock = clock;
    this.#desks = controllers.map(controller => ({ controller, waiting: new Set(), later: new Map() }));
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
    this.#waiting = [];
    for (const { waiting, later } of this.#desks) {
      for (const cancel of later.values()) cancel();
      waiting.clear();
      later.clear();
    }
  }

  #told(change: Change): void {
    for (const desk of this.#desks) {
      for (const key of desk.controller.keysOf(change, this.#cluster)) {
        if (!this.#isOwn(change, desk, key)) this.#want(desk, key);
      }
    }
  }

  #isOwn({ resource }: Change, desk: Desk, key: string): boolean {
    return desk.controller.settles === resource && this.#current?.desk === desk && this.#current.key === key;
  }

  #want(desk: Desk, key: string): void {
    if (desk.waiting.has(key)) return;
    desk.waiting.add(key);
    this.#waiting.push({ desk, key });
    this.#scheduled ??= this.#clock.after(latencyMs, () => this.#work());
  }

  /** What the work itself brings about is looked at in the next round. */
  #work(): void {
    this.#scheduled = undefined;
    const round = this.#waiting;
    this.#waiting = [];
    for (const { waiting } of this.#desks) waiting.clear();
    for (const wish of round) {
      const { desk, key } = wish;
      desk.later.get(key)?.();
      desk.later.delete(key);
      this.#current = wish;
      const again = desk.controller.reconcile(key, this.#cluster);
      this.#current = undefined;
      if (again !== undefined)
        desk.later.set(
          key,
          this.#clock.after(again, () => this.#want(desk, key)),
        );
    }
  }
}
