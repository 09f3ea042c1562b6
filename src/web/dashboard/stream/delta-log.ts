import type { Delta } from '../scene.ts';

/** Deltas that are kept for readers that lag behind or come back; older ones are made up for by a new snapshot. */
const maxEntries = 500;
const maxCharacters = 4_000_000;

type Entry = { readonly revision: number; readonly text: string };

/** What a reader is told next. `forgotten`: nobody knows any more what it has missed. */
type Next = Entry | 'nothing' | 'forgotten';

/** The last deltas, each as the text that readers get: written once for all of them, and bounded. */
export class DeltaLog {
  readonly #entries: Entry[] = [];
  #characters = 0;
  #revision = 0;

  /** Without a delta, everybody needs a new snapshot. */
  add(revision: number, delta: Delta | undefined): void {
    if (delta === undefined) return this.#forget(revision);
    const text = JSON.stringify(delta);
    this.#revision = revision;
    this.#entries.push({ revision, text });
    this.#characters += text.length;
    while (this.#entries.length > maxEntries || this.#characters > maxCharacters) {
      this.#characters -= this.#entries.shift()?.text.length ?? 0;
    }
  }

  #forget(revision: number): void {
    this.#revision = revision;
    this.#entries.length = 0;
    this.#characters = 0;
  }

  /** What comes after a revision. */
  after(revision: number): Next {
    if (revision === this.#revision) return 'nothing';
    const first = this.#entries[0]?.revision;
    // A revision that is not there yet is none of this journal's.
    if (first === undefined || revision > this.#revision) return 'forgotten';
    return this.#entries[revision + 1 - first] ?? 'forgotten';
  }
}
