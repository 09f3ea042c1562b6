type Waiting = { readonly work: () => Promise<void>; readonly done: () => void };

/**
 * Limits concurrent work; later work waits in order of arrival. A waiting entry holds nothing but a
 * function.
 */
export class Semaphore {
  readonly #places: number;
  readonly #waiting: Set<Waiting> = new Set();
  #busy = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /**
   * Starts the work as soon as there is a place, and resolves when it is done. The work must never
   * reject.
   */
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
