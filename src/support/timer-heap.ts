import { Heap } from './heap.ts';

/** Something to be done at a time. */
export type ScheduledTask = { readonly at: number; readonly order: number; readonly task: () => void; off: boolean };

const isBefore = (one: ScheduledTask, other: ScheduledTask): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order);

/** What is to be done, the earliest first, and of the same time the one that was entered first. */
export class TimerHeap {
  readonly #heap = new Heap<ScheduledTask>(isBefore);
  #entered = 0;

  /** The answer takes it off the agenda. */
  enter(at: number, task: () => void): () => void {
    const entry: ScheduledTask = { at, order: this.#entered, task, off: false };
    this.#entered += 1;
    this.#heap.push(entry);
    return () => {
      // It stays in the heap until its time has come: most are never taken off.
      entry.off = true;
    };
  }

  /** Takes the first entry that is due by then. */
  take(by: number): ScheduledTask | undefined {
    for (let { first } = this.#heap; first !== undefined && first.at <= by; { first } = this.#heap) {
      this.#heap.pop();
      if (!first.off) return first;
    }
    return undefined;
  }
}
