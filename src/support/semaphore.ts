type Waiting = { readonly work: () => Promise<void>; readonly done: () => void };

/** Does so many things at once; whoever comes later waits, first come, first served. What waits is nothing but a function. */
export class Semaphore {
  readonly #places: number;
  readonly #waiting: Set<Waiting> = new Set();
  #busy = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Begins the work at once where there is a place, and resolves when it is done. The work must never reject. */
  run(work: () => Promise<void>): Promise<void> {
    return new Promise(done => {
      this.#waiting.add({ work, done });
      this.#pump();
    });
  }

  #pump(): void {
    for (const waiting of this.#waiting) {
      if (this.#busy >= this.#places) return;
      this.#waiting.delete(waiting);
      this.#busy += 1;
      void waiting.work().then(() => {
        this.#busy -= 1;
        waiting.done();
        this.#pump();
      });
    }
  }
}
