import type { Delta } from '../scene.ts';

/**
 * Limits of the deltas that are kept for clients that lag behind or reconnect; a new snapshot
 * replaces older ones.
 */
const maxEntries = 500;
const maxCharacters = 4_000_000;

type Entry = { readonly revision: number; readonly text: string };

/** Next message for a client. `forgotten`: the deltas that it missed are no longer kept. */
type Next = Entry | 'nothing' | 'forgotten';

/** A bounded log of the last deltas, each serialized once for all clients. */
export class DeltaLog {
  readonly #entries: Entry[] = [];
  #characters = 0;
  #revision = 0;

  /** Adds a delta; without one, all clients need a new snapshot. */
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

  /** Returns the message that follows a revision. */
  after(revision: number): Next {
    if (revision === this.#revision) return 'nothing';
    const first = this.#entries[0]?.revision;
    // A later revision is not from this log.
    if (first === undefined || revision > this.#revision) return 'forgotten';
    return this.#entries[revision + 1 - first] ?? 'forgotten';
  }
}
