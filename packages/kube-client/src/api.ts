import {
  type KubeEvent,
  type KubernetesRelease,
  readRelease,
  statusMessage,
} from '@drydock/apimachinery';
import { isDefect } from '@drydock/utils';

/**
 * Interfaces of an API server and of what stands around it. The client, the simulated API server
 * and tests implement them.
 */

/** A call to an API server. The body is JSON by the time it is sent. */
export type ApiCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path without the server, for example `/api/v1/nodes/n1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Content type of the body; `application/json` if left out. Patches set theirs. */
  readonly contentType?: string;
  /** Accepted type of the response; `application/json` if left out. */
  readonly accept?: string;
  /**
   * Priority: `vital` (leases, status) never queues behind `bulk` (evictions). `normal` if left
   * out.
   */
  readonly priority?: 'vital' | 'normal' | 'bulk';
  /** Milliseconds until the call times out; 30,000 if left out. */
  readonly timeoutMs?: number;
};

/**
 * Response of the server with any status code. The body is parsed if it is JSON, otherwise a
 * string.
 */
export type ApiResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
};

/** A client of one API server. */
export interface Api {
  /**
   * Resolves with the server's response, errors of the server included. Rejects with a
   * `ConnectionError` if there was none: see its `mayHaveHappened`. A call whose signal is aborted
   * rejects with the signal's reason.
   */
  call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse>;
}

/** Fields that every watched object has after projection. */
export type CachedObject = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
};

/** A change of one object in a watched collection. */
export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'changed'; readonly object: T; readonly before: T }
  | { readonly type: 'removed'; readonly object: T };

/** A collection to follow. */
export type Collection = {
  /** Path, for example `/api/v1/pods`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** True for metadata only (PartialObjectMetadata). */
  readonly metadataOnly?: boolean;
  /**
   * True to begin at once with the server's watch cache, however old it is; the watch catches up
   * from there. A consistent first list waits until the cache has caught up, up to a tenth of a
   * second. For small collections only: such a list comes in one page.
   */
  readonly beginWithCache?: boolean;
};

/**
 * The contents of a collection at one version: older objects that are not in it will not be
 * delivered any more.
 */
export type CompleteList = { readonly keys: ReadonlySet<string>; readonly version: string };

/**
 * Callbacks for a followed collection. Calls come in order and never overlap; a callback that
 * throws is reported and does not stop the watch.
 */
export interface WatchHandler<T> {
  changed(change: Change<T>): void;
  /** Receives the end of the first complete list. Called once. */
  synced(): void;
  /**
   * Receives a complete list after its changes, the first one or a later one; the first one before
   * `synced`. After a refusal (403, 404) there is always one. Every Watcher calls it.
   */
  listed?(list: CompleteList): void;
  /**
   * Receives a failure to read the collection; it is retried after `retryInMs`. `status` is the
   * HTTP status if there was one.
   */
  failing?(problem: {
    readonly message: string;
    readonly status?: number;
    readonly retryInMs: number;
  }): void;
}

/** A source of watches. */
export interface Watcher {
  /**
   * Lists and watches until the signal is aborted, through every kind of failure; resolves then.
   * `project` reads the needed fields of each object; it returns undefined for objects to leave
   * out.
   */
  watch<T extends CachedObject>(
    collection: Collection,
    project: (raw: unknown) => T | undefined,
    handler: WatchHandler<T>,
    signal: AbortSignal,
  ): Promise<void>;
}

/**
 * A recorder of events that never delays the work: failures are logged, repeated events counted.
 */
export interface Recorder {
  record(event: KubeEvent): void;
}

/**
 * A fence that reports whether this process may act at this very moment. A leader that could not
 * renew its lease in time may not.
 */
export interface Fence {
  mayAct(): boolean;
}

/** One page of a list, or the response of a server that refuses it. */
type CollectionPage =
  | { readonly kind: 'page'; readonly items: readonly unknown[]; readonly response: ApiResponse }
  | { readonly kind: 'refused'; readonly response: ApiResponse };

/** Call that lists a collection, without what is special to one page. */
type ListCall = Pick<ApiCall, 'path' | 'query' | 'accept' | 'timeoutMs'>;

type List = {
  readonly items?: readonly unknown[] | null;
  readonly metadata?: { readonly continue?: string };
};

/**
 * Lists a collection page by page: all pages are of the moment of the first. `limitAfter` returns
 * the limit of the next page from the items of the page before, which the first page does not have;
 * undefined stands for no limit. Ends after the last page or a refusal, also a 410 in the middle,
 * for a token that has expired: whether to list again is up to the caller. Rejects like `Api.call`.
 */
export async function* listPages(
  api: Api,
  call: ListCall,
  limitAfter: (items?: readonly unknown[]) => number | undefined,
  signal?: AbortSignal,
): AsyncGenerator<CollectionPage> {
  let limit = limitAfter();
  let token: string | undefined;
  do {
    const query = { ...call.query, limit, continue: token };
    const response = await api.call({ ...call, method: 'GET', query }, signal);
    if (response.status !== 200) {
      yield { kind: 'refused', response };
      return;
    }
    const { items, metadata } = (response.body ?? {}) as List;
    token = metadata?.continue === '' ? undefined : metadata?.continue;
    if (token !== undefined) limit = limitAfter(items ?? []);
    yield { kind: 'page', items: items ?? [], response };
  } while (token !== undefined);
}

const pageSize = 500;

/**
 * Lists a whole collection, page by page. Throws an error with the name of the collection and the
 * server's message.
 */
export async function listAll(
  api: Api,
  path: string,
  query: Readonly<Record<string, string>> = {},
  missing: 'fail' | 'empty' = 'fail',
  signal?: AbortSignal,
): Promise<readonly unknown[]> {
  const items: unknown[] = [];
  for await (const page of listPages(api, { path, query }, () => pageSize, signal)) {
    const { response } = page;
    if (page.kind === 'page') for (const item of page.items) items.push(item);
    else if (response.status === 404 && missing === 'empty') return [];
    else throw new Error(`cannot read ${path}: ${statusMessage(response)}`);
  }
  return items;
}

/**
 * Reads an object that a decision waits for. Resolves with undefined if there is no response, and
 * passes the error to `failing`. Rejects for defects only.
 */
export async function vitalGet(
  api: Api,
  path: string,
  failing: (error: unknown) => void,
  query: NonNullable<ApiCall['query']> = {},
): Promise<ApiResponse | undefined> {
  try {
    return await api.call({ method: 'GET', path, query, priority: 'vital', timeoutMs: 10_000 });
  } catch (error) {
    if (isDefect(error)) throw error;
    failing(error);
    return undefined;
  }
}

/** Release of an API server, or why the server does not report one. */
export type ServerRelease =
  | { readonly kind: 'release'; readonly release: KubernetesRelease }
  | { readonly kind: 'refused'; readonly message: string };

/** Reads the release of the API server. Throws an error when the server fails. */
export async function serverRelease(api: Api, signal?: AbortSignal): Promise<ServerRelease> {
  const response = await api.call({ method: 'GET', path: '/version' }, signal);
  if (response.status >= 500) throw new Error(statusMessage(response));
  const release = response.status === 200 ? readRelease(response.body) : undefined;
  if (release !== undefined) return { kind: 'release', release };
  const message = `failed to read the version of the API server: ${statusMessage(response)}`;
  return { kind: 'refused', message };
}
