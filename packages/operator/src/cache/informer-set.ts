import type {
  Api,
  CachedObject,
  Change,
  Collection,
  CompleteList,
  Watcher,
  WatchHandler,
} from '@drydock/kube-client';
import type { Clock, Log } from '@drydock/utils';
import { isDefect, type PanicHandler } from '@drydock/utils';
import type { Cache } from './cache.ts';

/**
 * Reason why a collection is left out: the cluster does not serve it, or this user may not read it.
 */
type MissingReason = 'missing' | 'withheld';

type Problem = { readonly message: string; readonly status?: number; readonly retryInMs: number };

/** Milliseconds until discovery is repeated: a kind may be installed at any time. */
const askAgainMs = 10_000;

type Resources = { readonly resources?: readonly { readonly name: string }[] };

/**
 * Returns the resources that are served under the path of a version, which every user may read.
 * Undefined if discovery fails.
 */
async function servedUnder(
  api: Api,
  path: string,
  defects: PanicHandler,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  try {
    const { status, body } = await api.call({ method: 'GET', path }, signal);
    if (status === 404) return [];
    return status === 200
      ? ((body as Resources).resources ?? []).map(({ name }) => name)
      : undefined;
  } catch (error) {
    if (isDefect(error)) defects.report('Watch', path, error);
    return undefined;
  }
}

/** A set of informers that knows which collections have been read completely. */
export class InformerSet {
  /** Names of collections that are not served (any more). */
  readonly missing = new Set<string>();
  readonly #unsynced = new Set<string>();
  readonly #withheld = new Set<string>();
  /**
   * Known collections that were refused once since: an API server that has just started refuses
   * requests that it allows a second later.
   */
  readonly #refused = new Set<string>();
  /** In-flight discovery requests by the path of a version: its kinds share one request. */
  readonly #discoveries = new Map<string, Promise<readonly string[] | undefined>>();
  readonly #watcher: Watcher;
  readonly #log: Log;
  readonly #defects: PanicHandler;
  readonly #mayLack: (name: string) => boolean;
  readonly #complete: () => void;

  /**
   * Creates the set. `mayLack` reports which kinds a cluster need not serve; a collection that this
   * user has no permission to read is left out in any case. `complete` is called whenever the last
   * pending collection has been read, and when the set of readable collections changes after that.
   */
  constructor(options: {
    readonly watcher: Watcher;
    readonly log: Log;
    readonly defects: PanicHandler;
    readonly mayLack: (name: string) => boolean;
    readonly complete: () => void;
  }) {
    this.#watcher = options.watcher;
    this.#log = options.log;
    this.#defects = options.defects;
    this.#mayLack = options.mayLack;
    this.#complete = options.complete;
  }

  /**
   * Collections that have not been read completely yet. While there are any, nothing may be
   * decided.
   */
  get unsynced(): readonly string[] {
    return [...this.#unsynced].sort();
  }

  /** Collections that this user has no permission to read, and that are left out. */
  get forbidden(): readonly string[] {
    return [...this.#withheld].sort();
  }

  /**
   * Reports whether the collection has been read and is kept up to date: an object that is not in
   * it does not exist.
   */
  isKnown(name: string): boolean {
    return !this.#unsynced.has(name) && !this.#withheld.has(name) && !this.missing.has(name);
  }

  /**
   * Announces that the collection will be followed: it counts as unsynced until it has been read.
   */
  expect(name: string): void {
    this.#unsynced.add(name);
  }

  /**
   * Follows the collection until the signal is aborted. `unseen`: known objects that must be gone
   * if a complete list does not contain them.
   */
  async follow<T extends CachedObject>(
    name: string,
    collection: Collection,
    project: (raw: unknown) => T | undefined,
    changed: (change: Change<T>) => void,
    signal: AbortSignal,
    unseen: (list: CompleteList) => readonly T[] = () => [],
  ): Promise<void> {
    this.expect(name);
    const handler: WatchHandler<T> = {
      changed,
      synced: () => {
        this.#readable(name);
        if (this.#unsynced.delete(name)) this.#knownChanged();
      },
      failing: problem => this.#failing(name, problem),
      listed: list => {
        for (const object of unseen(list)) changed({ type: 'removed', object });
        this.#readable(name);
      },
    };
    await this.#watcher.watch(collection, project, handler, signal);
  }

  /** Follows the collection into a cache, which is up to date when `changed` is called. */
  async followInto<T extends CachedObject>(
    cache: Cache<T>,
    ...[name, collection, project, changed, signal]: Parameters<typeof this.follow<T>>
  ): Promise<void> {
    const applied = (change: Change<T>): void => {
      cache.apply(change);
      changed(change);
    };
    await this.follow(name, collection, project, applied, signal, list => cache.unseen(list));
  }

  /**
   * Follows a kind that many clusters do not have: it is listed only once it is served, so that no
   * user needs a right to a missing kind, and a refusal is really one.
   */
  async followOnceServed<T extends CachedObject>(
    { api, clock }: { readonly api: Api; readonly clock: Clock },
    ...[name, collection, project, changed, signal]: Parameters<typeof this.follow<T>>
  ): Promise<void> {
    this.expect(name);
    while (!signal.aborted) {
      const served = await this.#isServed(api, collection, signal);
      if (served === true) return this.follow(name, collection, project, changed, signal);
      if (served === false)
        this.#failing(name, { message: 'it is not served', status: 404, retryInMs: askAgainMs });
      await clock.sleep(askAgainMs, signal);
    }
  }

  async #isServed(
    api: Api,
    { path }: Collection,
    signal: AbortSignal,
  ): Promise<boolean | undefined> {
    const cut = path.lastIndexOf('/');
    const version = path.slice(0, cut);
    const discovery =
      this.#discoveries.get(version) ??
      servedUnder(api, version, this.#defects, signal).finally(() =>
        this.#discoveries.delete(version),
      );
    this.#discoveries.set(version, discovery);
    return (await discovery)?.includes(path.slice(cut + 1));
  }

  /** Records that the collection has been read completely, for the first time or again. */
  #readable(name: string): void {
    this.#refused.delete(name);
    const wasMissing = this.missing.delete(name);
    const wasWithheld = this.#withheld.delete(name);
    if (wasMissing) this.#log.info('kind is served now', { kind: name });
    if (wasWithheld) this.#log.info('allowed to read a collection now', { collection: name });
    if (wasMissing || wasWithheld) this.#knownChanged();
  }

  /**
   * Notifies after a pending collection has been read or is left out, or the set of readable
   * collections has changed.
   */
  #knownChanged(): void {
    if (this.#unsynced.size === 0) this.#complete();
  }

  #reasonOf(name: string, status: number | undefined): MissingReason | undefined {
    // A user with rights of an older version goes on as before, with everything that the missing
    // right does not affect.
    if (status === 403) return 'withheld';
    // A kind whose CRD is not installed has no objects: that is known as well.
    return status === 404 && this.#mayLack(name) ? 'missing' : undefined;
  }

  #failing(name: string, problem: Problem): void {
    const { message, status, retryInMs } = problem;
    const reason = this.#reasonOf(name, status);
    const isPassing = reason === 'withheld' && this.isKnown(name) && !this.#refused.has(name);
    if (isPassing) this.#refused.add(name);
    if (reason === undefined || isPassing) {
      this.#log.warn('failed to list or watch a collection; retrying', {
        collection: name,
        error: message,
        retryInMs,
      });
      return;
    }
    const [known, other] =
      reason === 'missing' ? [this.missing, this.#withheld] : [this.#withheld, this.missing];
    if (known.has(name)) return;
    other.delete(name);
    known.add(name);
    if (reason === 'missing')
      this.#log.info('kind is not installed in this cluster; it is reconciled as soon as it is', {
        kind: name,
      });
    else
      this.#log.warn('not allowed to read a collection; continuing without it', {
        collection: name,
        error: message,
      });
    this.#unsynced.delete(name);
    this.#knownChanged();
  }
}
