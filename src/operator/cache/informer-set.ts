import type { Clock } from '../../support/clock.ts';
import type { Log } from '../../support/log.ts';
import { isDefect, type PanicHandler } from '../../support/panic-handler.ts';
import type { Api, CachedObject, Change, Collection, CompleteList, Watcher, WatchHandler } from '../ports.ts';
import type { Cache } from './cache.ts';

/** Why a collection is done without: the cluster does not serve it, or this user may not read it. */
type MissingReason = 'missing' | 'withheld';

type Problem = { readonly message: string; readonly status?: number; readonly retryInMs: number };

/** A kind may be installed at any time: asked for again after so many milliseconds. */
const askAgainMs = 10_000;

type Resources = { readonly resources?: readonly { readonly name: string }[] };

/** What is served under the path of a version; everybody may ask. Undefined when that cannot be found out. */
const servedUnder = async (api: Api, path: string, defects: PanicHandler, signal: AbortSignal): Promise<readonly string[] | undefined> => {
  try {
    const { status, body } = await api.call({ method: 'GET', path }, signal);
    if (status === 404) return [];
    return status === 200 ? ((body as Resources).resources ?? []).map(({ name }) => name) : undefined;
  } catch (error) {
    if (isDefect(error)) defects.tell('Watch', path, error);
    return undefined;
  }
};

/** Follows collections, and knows which of them have been read completely. */
export class InformerSet {
  /** Not served (any more), by name. */
  readonly missing = new Set<string>();
  readonly #unsynced = new Set<string>();
  readonly #withheld = new Set<string>();
  /** Known, and refused once since: an API server that has just begun refuses what it allows a second later. */
  readonly #refused = new Set<string>();
  /** Questions under way, by the path of a version: its kinds are asked for together. */
  readonly #discoveries = new Map<string, Promise<readonly string[] | undefined>>();
  readonly #watcher: Watcher;
  readonly #log: Log;
  readonly #defects: PanicHandler;
  readonly #mayLack: (name: string) => boolean;
  readonly #complete: () => void;

  /** `mayLack` says which kinds a cluster need not serve; what this user may not read is done without in any case. `complete` is told whenever the last that was waited for has been read, and when what can be read changes after that. */
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

  /** Collections that have not been read completely yet. As long as there is one, nothing may be decided. */
  get unsynced(): readonly string[] {
    return [...this.#unsynced].sort();
  }

  /** Collections that this user may not read, and that are done without. */
  get forbidden(): readonly string[] {
    return [...this.#withheld].sort();
  }

  /** It has been read and is kept up to date: what is not in it does not exist. */
  isKnown(name: string): boolean {
    return !this.#unsynced.has(name) && !this.#withheld.has(name) && !this.missing.has(name);
  }

  /** It will be followed: until it has been read, it has not been read completely. */
  expect(name: string): void {
    this.#unsynced.add(name);
  }

  /** Follows the collection until the signal is aborted. `unseen`: what is known of it, and must be gone when it is not in a complete list. */
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

  /** The same, and keeps what has been read in a cache, which is up to date when a change is told. */
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
   * The same for a kind that many clusters do not have: nothing is asked of it before it is served, so that nobody needs a right to what is not there, and a refusal
   * is one.
   */
  async followOnceServed<T extends CachedObject>(
    { api, clock }: { readonly api: Api; readonly clock: Clock },
    ...[name, collection, project, changed, signal]: Parameters<typeof this.follow<T>>
  ): Promise<void> {
    this.expect(name);
    while (!signal.aborted) {
      const served = await this.#isServed(api, collection, signal);
      if (served === true) return this.follow(name, collection, project, changed, signal);
      if (served === false) this.#failing(name, { message: 'it is not served', status: 404, retryInMs: askAgainMs });
      await clock.sleep(askAgainMs, signal);
    }
  }

  async #isServed(api: Api, { path }: Collection, signal: AbortSignal): Promise<boolean | undefined> {
    const cut = path.lastIndexOf('/');
    const version = path.slice(0, cut);
    const asked =
      this.#discoveries.get(version) ?? servedUnder(api, version, this.#defects, signal).finally(() => this.#discoveries.delete(version));
    this.#discoveries.set(version, asked);
    return (await asked)?.includes(path.slice(cut + 1));
  }

  /** It has been read completely, for the first time or again. */
  #readable(name: string): void {
    this.#refused.delete(name);
    const wasMissing = this.missing.delete(name);
    const wasWithheld = this.#withheld.delete(name);
    if (wasMissing) this.#log.info('kind is served now', { kind: name });
    if (wasWithheld) this.#log.info('allowed to read a collection now', { collection: name });
    if (wasMissing || wasWithheld) this.#knownChanged();
  }

  /** Something that was waited for has been read or is done without, or what can be read has changed. */
  #knownChanged(): void {
    if (this.#unsynced.size === 0) this.#complete();
  }

  #reasonOf(name: string, status: number | undefined): MissingReason | undefined {
    // A user whose rights are of an older version goes on as before, with all that the missing right is not about.
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
      this.#log.warn('failed to list or watch a collection; retrying', { collection: name, error: message, retryInMs });
      return;
    }
    const [known, other] = reason === 'missing' ? [this.missing, this.#withheld] : [this.#withheld, this.missing];
    if (known.has(name)) return;
    other.delete(name);
    known.add(name);
    if (reason === 'missing') this.#log.info('kind is not installed in this cluster; it is reconciled as soon as it is', { kind: name });
    else this.#log.warn('not allowed to read a collection; continuing without it', { collection: name, error: message });
    this.#unsynced.delete(name);
    this.#knownChanged();
  }
}
