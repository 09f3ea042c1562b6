import type { CachedObject, Change, Collection, Watcher, WatchHandler } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import { WatchErrors } from './watch-errors.ts';

type Followed<T extends CachedObject> = {
  /** Name for users. */
  readonly what: string;
  readonly collection: Collection;
  readonly project: (raw: unknown) => T | undefined;
  readonly told: (change: Change<T>) => void;
  /** Whether a cluster may lack the collection: then its absence is no error. */
  readonly mayLack?: true;
};

/**
 * Watches collections, and records which have not been read yet, which cannot be read, and which
 * the cluster does not serve.
 */
export class Collections {
  readonly #watcher: Watcher;
  readonly #changed: () => void;
  readonly #troubles: WatchErrors;
  readonly #loading = new Set<string>();
  readonly #missing = new Set<string>();

  /** Creates the collections; `changed` is called after every change. */
  constructor(watcher: Watcher, clock: Clock, changed: () => void) {
    this.#watcher = watcher;
    this.#changed = changed;
    this.#troubles = new WatchErrors(clock, changed);
  }

  get loading(): readonly string[] {
    return [...this.#loading].sort();
  }

  get unreadable(): ReturnType<WatchErrors['list']> {
    return this.#troubles.list();
  }

  /** Returns whether the cluster does not serve the collection. */
  lacks(what: string): boolean {
    return this.#missing.has(what);
  }

  /** Watches a collection until the signal is aborted. */
  follow<T extends CachedObject>(
    { what, collection, project, told, mayLack }: Followed<T>,
    signal: AbortSignal,
  ): Promise<void> {
    this.#loading.add(what);
    const sink: WatchHandler<T> = {
      changed: change => {
        this.#heard(what);
        told(change);
        this.#changed();
      },
      synced: () => {
        this.#loading.delete(what);
        this.#heard(what);
        this.#changed();
      },
      // A list may be the only event after a refusal, when nothing in the collection changes.
      listed: () => {
        this.#heard(what);
        this.#changed();
      },
      failing: ({ message, status, retryInMs }) => {
        this.#loading.delete(what);
        if (mayLack !== true || status !== 404)
          return this.#troubles.failing(what, message, retryInMs);
        this.#missing.add(what);
        this.#changed();
      },
    };
    return this.#watcher.watch(collection, project, sink, signal);
  }

  stop(): void {
    this.#troubles.stop();
  }

  #heard(what: string): void {
    this.#missing.delete(what);
    this.#troubles.mended(what);
  }
}
