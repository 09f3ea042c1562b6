import type { Clock, Log } from '@drydock/utils';
import { Backoff, PanicHandler } from '@drydock/utils';
import type { Api, ApiResponse, CachedObject, Collection, Watcher, WatchHandler } from '../api.ts';
import { ConnectionError, withoutStop } from '../http/credentials.ts';
import { retryAfterMs } from '../http/exchange.ts';
import type { Streams } from '../http/transport.ts';
import { identify, type Project, ReflectorStore, type StatusError } from './reflector-store.ts';
import { pagesOf, type WatchEnd, type WatchLine, watchOnce } from './watch.ts';

/** Options of a reflector. */
export type ReflectorOptions = {
  readonly api: Api & Streams;
  readonly clock: Clock;
  readonly log: Log;
  /** Random source, uniform in [0, 1). */
  readonly random: () => number;
  /**
   * Time of silence after which a watch counts as dead; 150,000 ms when left out: the API server
   * sends a bookmark each minute, so two are missing by then. Doubled after a silent watch, because
   * not every server sends bookmarks.
   */
  readonly quietMs?: number;
  /**
   * Handler of errors that a `project` or a handler throws, and of defects in reading; they are
   * only logged when this is left out.
   */
  readonly defects?: PanicHandler | undefined;
};

/** Outcome of a step, which decides the wait before the next. */
type Step =
  /** Continue at once. */
  | { readonly kind: 'well' }
  /** Harmless unless it repeats: wait a little. */
  | { readonly kind: 'again'; readonly why: string }
  /** The collection cannot be read: report it, and wait. */
  | {
      readonly kind: 'failed';
      readonly why: string;
      readonly status?: number | undefined;
      readonly retryAfterMs?: number | undefined;
    };

/**
 * Minimum duration of a useful watch, in milliseconds: after its end, the next one is opened at
 * once.
 */
const worthwhileMs = 10_000;
/**
 * Number of silent watches after which the collection is listed again: a server may drop a watch
 * without reporting that its version is too old (kubernetes #137089).
 */
const silentLimit = 3;
/** Longest time between retries for a missing collection: its CRD may be about to be installed. */
const missingRetryMs = 10_000;
/**
 * Longest time between retries of a forbidden collection: the permission may be about to be
 * granted.
 */
const forbiddenRetryMs = 5_000;

/**
 * Returns a watcher that follows collections with LIST and WATCH, as client-go's Reflector does.
 */
export function reflectorWatcher(options: ReflectorOptions): Watcher {
  return {
    watch: <T extends CachedObject>(
      collection: Collection,
      project: Project<T>,
      handler: WatchHandler<T>,
      signal: AbortSignal,
    ) => new Reflector(options, collection, project, handler).run(signal),
  };
}

/**
 * Follows one collection: lists when no version is known to continue from, otherwise watches from
 * the last version seen.
 */
class Reflector<T extends CachedObject> {
  readonly #options: ReflectorOptions;
  readonly #collection: Collection;
  readonly #store: ReflectorStore<T>;
  readonly #defects: PanicHandler;
  readonly #backoff: Backoff;
  #version: string | undefined;
  #listed = false;
  /** Number of consecutive watches that opened and then stayed silent. */
  #silent = 0;

  constructor(
    options: ReflectorOptions,
    collection: Collection,
    project: Project<T>,
    handler: WatchHandler<T>,
  ) {
    this.#options = options;
    this.#collection = collection;
    this.#defects = options.defects ?? new PanicHandler(options);
    this.#store = new ReflectorStore(collection.path, project, handler, this.#defects);
    this.#backoff = new Backoff({ firstMs: 1000, longestMs: 30_000, random: options.random });
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const step = await (this.#version === undefined
        ? this.#list(signal)
        : this.#watch(this.#version, signal));
      // An abort makes the pending step fail, which is no failure.
      if (!signal.aborted) await this.#pause(step, signal);
    }
  }

  async #list(signal: AbortSignal): Promise<Step> {
    const names = new Set<string>();
    let version: string | undefined;
    try {
      // Only the very first list may come from the server's cache: a later one could undo newer
      // changes that were already delivered.
      const from = this.#collection.beginWithCache === true && !this.#listed ? 'cache' : 'now';
      for await (const page of pagesOf(this.#options.api, this.#collection, signal, from)) {
        if (signal.aborted) return { kind: 'well' };
        if (page.kind === 'refused') return this.#refused('list', page.statusError, page.headers);
        this.#take(page.items, names);
        version ??= page.version;
      }
    } catch (error) {
      return this.#failedBy('list', error);
    }
    this.#store.retain(names, version);
    this.#listed = true;
    this.#version = version;
    this.#silent = 0;
    return { kind: 'well' };
  }

  #take(items: readonly unknown[], names: Set<string>): void {
    for (const raw of items) {
      const identity = identify(raw);
      if (identity === undefined) {
        this.#options.log.error('skipping a listed object without name or resourceVersion', {
          path: this.#collection.path,
        });
        continue;
      }
      names.add(identity.name);
      this.#store.put(identity, raw);
    }
  }

  async #watch(version: string, signal: AbortSignal): Promise<Step> {
    const { api, clock, random, quietMs = 150_000 } = this.#options;
    const beganMs = clock.now().epochMilliseconds;
    let spoke = false;
    const request = {
      collection: this.#collection,
      version,
      seconds: Math.round(300 + 300 * random()),
      quietMs: this.#silent === 0 ? quietMs : 2 * quietMs,
    };
    const onLine = (line: Parameters<Parameters<typeof watchOnce>[3]>[0]): void => {
      spoke = true;
      this.#heard(line, signal);
    };
    const end = await watchOnce(api, clock, request, onLine, signal);
    return this.#ended(end, spoke, clock.now().epochMilliseconds - beganMs);
  }

  #heard(
    line: Exclude<WatchLine, { readonly kind: 'refused' | 'garbled' }>,
    signal: AbortSignal,
  ): void {
    this.#silent = 0;
    this.#backoff.reset();
    // A handler may have stopped the watch while more lines were waiting.
    if (signal.aborted) return;
    if (line.kind === 'bookmark') {
      this.#version = line.version;
      return;
    }
    if (line.kind === 'put') this.#store.put(line.identity, line.raw);
    else this.#store.remove(line.identity, line.raw);
    this.#version = line.identity.resourceVersion;
  }

  #ended(end: WatchEnd, spoke: boolean, lastedMs: number): Step {
    if (end.kind === 'refused') {
      if (end.opened && !spoke) this.#countSilent();
      return this.#refused('watch', end.statusError, end.headers);
    }
    // A connection that could not be opened is no evidence about the version; an open and silent
    // watch may be.
    if (end.kind === 'broken' && end.error instanceof ConnectionError)
      return this.#failedBy('watch', end.error);
    if (!spoke) this.#countSilent();
    if (lastedMs >= worthwhileMs) this.#backoff.reset();
    if (end.kind === 'closed' && lastedMs >= worthwhileMs) return { kind: 'well' };
    const why =
      end.kind === 'closed'
        ? 'the watch was closed soon after it was opened'
        : end.kind === 'garbled'
          ? end.why
          : this.#textOf(end.error);
    if (end.kind === 'garbled')
      this.#options.log.warn('invalid watch event', { path: this.#collection.path, why });
    return { kind: 'again', why };
  }

  #countSilent(): void {
    this.#silent += 1;
    if (this.#silent < silentLimit) return;
    this.#options.log.info('several watches in a row were silent; relisting', {
      path: this.#collection.path,
      watches: this.#silent,
    });
    this.#silent = 0;
    this.#version = undefined;
  }

  #refused(
    verb: 'list' | 'watch',
    statusError: StatusError,
    headers: ApiResponse['headers'],
  ): Step {
    const why = `cannot ${verb}: ${statusError.message}`;
    // A forbidden collection is listed once it is permitted again: a list reports success at once.
    if (statusError.about !== 'other' || statusError.status === 403) this.#version = undefined;
    if (statusError.about === 'version' && statusError.status !== 400)
      return { kind: 'again', why };
    const wait = retryAfterMs(headers['retry-after'], this.#options.clock.now());
    return { kind: 'failed', why, status: statusError.status, retryAfterMs: wait };
  }

  #failedBy(verb: 'list' | 'watch', error: unknown): Step {
    return { kind: 'failed', why: `cannot ${verb}: ${this.#textOf(error)}` };
  }

  #textOf(error: unknown): string {
    return withoutStop(this.#defects.textOf('Watch', this.#collection.path, error));
  }

  async #pause(step: Step, signal: AbortSignal): Promise<void> {
    if (step.kind === 'well') return;
    const { clock, log } = this.#options;
    const status = step.kind === 'failed' ? step.status : undefined;
    const wait = this.#backoff.next(
      status === 404 ? missingRetryMs : status === 403 ? forbiddenRetryMs : undefined,
    );
    const asked = step.kind === 'failed' ? (step.retryAfterMs ?? 0) : 0;
    const retryInMs = Math.round(Math.max(wait, asked));
    log.debug('resuming a watch after a pause', {
      path: this.#collection.path,
      why: step.why,
      retryInMs,
    });
    if (step.kind === 'failed')
      this.#store.failing(`${this.#collection.path}: ${step.why}`, step.status, retryInMs);
    await clock.sleep(retryInMs, signal);
  }
}
