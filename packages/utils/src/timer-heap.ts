import { Heap } from './heap.ts';

/** A task with its time. */
export type ScheduledTask = {
  readonly at: number;
  readonly order: number;
  readonly task: () => void;
  off: boolean;
};

function isBefore(one: ScheduledTask, other: ScheduledTask): boolean {
  return one.at < other.at || (one.at === other.at && one.order < other.order);
}

/** A queue of tasks, the earliest first, and in order of entry for the same time. */
export class TimerHeap {
  readonly #heap = new Heap<ScheduledTask>(isBefore);
  #entered = 0;

  /** Adds a task; returns a function that cancels it. */
  enter(at: number, task: () => void): () => void {
    const entry: ScheduledTask = { at, order: this.#entered, task, off: false };
    this.#entered += 1;
    this.#heap.push(entry);
    return () => {
      // The entry stays in the heap until its time has come: most are never cancelled.
      entry.off = true;
    };
  }

  /** Removes and returns the first entry that is due at this time. */
  take(by: number): ScheduledTask | undefined {
    for (
      let { first } = this.#heap;
      first !== undefined && first.at <= by;
      { first } = this.#heap
    ) {
      this.#heap.pop();
      if (!first.off) return first;
    }
    return undefined;
  }
}
