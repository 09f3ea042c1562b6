import type { Clock } from '@drydock/utils';
import { type Api, type ApiResponse, type Collection, listPages } from '../api.ts';
import type { Streams } from '../http/transport.ts';
import {
  identify,
  type RawObject,
  type StatusError,
  statusErrorOf,
  versionOf,
} from './reflector-store.ts';

/** One page of a list, or the refusal. */
export type ListPage =
  | {
      readonly kind: 'page';
      readonly items: readonly unknown[];
      readonly version: string;
    }
  | {
      readonly kind: 'refused';
      readonly statusError: StatusError;
      readonly headers: ApiResponse['headers'];
    };

/**
 * Page sizes. Larger pages block this process for longer: 20,000 pods at once take 1.6 s, 500 take
 * 0.02 s.
 */
const pageSizes = { first: 100, largest: 500 };

/**
 * Target length of a page, in characters. Parsing a page takes ten times its length of memory,
 * which V8 keeps for long: 5 MB of nodes took 50.
 */
const pageLength = 1_000_000;
const timeoutMs = 60_000;

/**
 * Lists a collection page by page. Sends no resourceVersion: all pages are of one moment, no older
 * than the request (kubernetes.io/docs/reference/using-api/api-concepts, "Retrieving large results
 * sets in chunks"). With `from` "cache", the server responds at once, ignores the limit, and may
 * return old data. Ends after the last page or a refusal; rejects like `Api.call`.
 */
export async function* pagesOf(
  api: Api,
  collection: Collection,
  signal: AbortSignal,
  from: 'cache' | 'now' = 'now',
): AsyncGenerator<ListPage> {
  const accept =
    collection.metadataOnly === true
      ? 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json'
      : 'application/json';
  const isCached = from === 'cache';
  const start = isCached ? { resourceVersion: 0 } : {};
  const query = { ...selectors(collection), ...start };
  const call = { path: collection.path, query, accept, timeoutMs };
  const limitAfter = isCached ? () => undefined : nextLimit;
  for await (const page of listPages(api, call, limitAfter, signal)) {
    const { status, headers, body } = page.response;
    const version = versionOf(body);
    if (page.kind === 'refused' || version === undefined) {
      const statusError = page.kind === 'page' ? notAList : statusErrorOf(status, body);
      yield { kind: 'refused', statusError, headers };
      return;
    }
    yield { kind: 'page', items: page.items, version };
    if (isCached) return;
  }
}

/**
 * Returns the limit for the next page: as many items as fit the target length, if all are as long
 * as the first of the page before.
 */
function nextLimit(items?: readonly unknown[]): number {
  if (items === undefined) return pageSizes.first;
  const { length } = JSON.stringify(items[0] ?? {});
  return Math.min(pageSizes.largest, Math.max(pageSizes.first, Math.floor(pageLength / length)));
}

/** Returns the selectors of a collection as query parameters. */
function selectors({
  fieldSelector,
  labelSelector,
}: Collection): Readonly<Record<string, string | undefined>> {
  return {
    fieldSelector,
    labelSelector,
  };
}

const notAList: StatusError = {
  status: 200,
  message: 'the answer is no list with a resourceVersion',
  about: 'other',
};

/** One line of a watch. */
export type WatchLine =
  | { readonly kind: 'put' | 'removed'; readonly identity: RawObject; readonly raw: unknown }
  | { readonly kind: 'bookmark'; readonly version: string }
  | { readonly kind: 'refused'; readonly statusError: StatusError }
  /** An invalid event. Its content is lost, so the stream cannot be trusted from here on. */
  | { readonly kind: 'garbled'; readonly why: string };

/** Limit of a line in bytes. etcd takes objects of 1.5 MB, so a longer line is not an object. */
const maxLineLength = 64 * 1024 * 1024;
const newline = 0x0a;

/**
 * Splits a stream into lines. A line may come in many chunks and a chunk may hold many lines; a
 * byte 0x0a is always a newline in UTF-8, so lines are split before decoding. Text after the last
 * newline at the end of the stream was cut off, and is dropped. Throws for a line that is longer
 * than `longest` bytes, whether it has ended or not.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  longest = maxLineLength,
): AsyncGenerator<readonly string[]> {
  let pieces: Buffer[] = [];
  let length = 0;
  const grow = (by: number): void => {
    length += by;
    if (length > longest) throw new Error(`a line of the watch is longer than ${longest} bytes`);
  };
  for await (const bytes of chunks) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const lines: string[] = [];
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      grow(end - start);
      const tail = chunk.subarray(start, end);
      lines.push((pieces.length === 0 ? tail : Buffer.concat([...pieces, tail])).toString('utf8'));
      pieces = [];
      length = 0;
      start = end + 1;
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
    grow(chunk.length - start);
    yield lines;
  }
}

/**
 * Reads one line: `{"type": "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR", "object": …}`
 * (meta/v1 WatchEvent).
 */
function readLine(line: string): WatchLine {
  const event = parse(line);
  if (event === undefined) return garbled('it is not JSON', line);
  const { type, object } = event;
  if (type === 'ERROR') return { kind: 'refused', statusError: statusErrorOf(undefined, object) };
  if (type === 'BOOKMARK') {
    const version = versionOf(object);
    return version === undefined
      ? garbled('a bookmark without resourceVersion', line)
      : { kind: 'bookmark', version };
  }
  const identity = identify(object);
  if (identity === undefined)
    return garbled('there is no object with a name, a uid and a resourceVersion in it', line);
  if (type === 'ADDED' || type === 'MODIFIED') return { kind: 'put', identity, raw: object };
  return type === 'DELETED'
    ? { kind: 'removed', identity, raw: object }
    : garbled('its type is unknown', line);
}

function garbled(why: string, line: string): WatchLine {
  return { kind: 'garbled', why: `${why}: ${line.slice(0, 200)}` };
}

function parse(line: string): { readonly type?: unknown; readonly object?: unknown } | undefined {
  try {
    const event: unknown = JSON.parse(line);
    return typeof event === 'object' && event !== null ? event : undefined;
  } catch {
    return undefined;
  }
}

/** Limits of a stream: time of silence, and total time. */
type IdleTimeoutOptions = {
  readonly clock: Clock;
  readonly quietMs: number;
  readonly longestMs: number;
};

/** Aborts a stream when no data arrives for too long, or when it lasts too long. */
class IdleTimeout implements Disposable {
  readonly #options: IdleTimeoutOptions;
  readonly #controller = new AbortController();
  readonly #beganMs: number;
  #heardMs: number;
  #cancel: () => void = () => {};

  constructor(options: IdleTimeoutOptions) {
    this.#options = options;
    this.#beganMs = this.#nowMs();
    this.#heardMs = this.#beganMs;
    this.#arm();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Records that data arrived. */
  heard(): void {
    this.#heardMs = this.#nowMs();
  }

  [Symbol.dispose](): void {
    this.#cancel();
  }

  // A single timer, restarted when it fires too early: cheaper than a new timer for each of
  // thousands of chunks.
  #arm(): void {
    const { clock, quietMs, longestMs } = this.#options;
    const left = Math.min(this.#heardMs + quietMs, this.#beganMs + longestMs) - this.#nowMs();
    if (left <= 0)
      return this.#controller.abort(
        new Error(`nothing came for ${(this.#nowMs() - this.#heardMs) / 1000} s`),
      );
    this.#cancel = clock.after(left, () => this.#arm());
  }

  #nowMs(): number {
    return this.#options.clock.now().epochMilliseconds;
  }
}

/** Reason for the end of a watch. */
export type WatchEnd =
  | { readonly kind: 'closed' }
  | { readonly kind: 'broken'; readonly error: unknown }
  | { readonly kind: 'garbled'; readonly why: string }
  | {
      readonly kind: 'refused';
      readonly statusError: StatusError;
      readonly headers: ApiResponse['headers'];
      readonly opened: boolean;
    };

/** One watch, from one version on. */
export type WatchRequest = {
  readonly collection: Collection;
  readonly version: string;
  /** Duration after which the server is to end the watch, in seconds. */
  readonly seconds: number;
  /** Time of silence after which the connection counts as dead, in milliseconds. */
  readonly quietMs: number;
};

/** Extra time in milliseconds for a server that does not end a watch in time. */
const graceMs = 30_000;

/**
 * Opens a watch and delivers its lines until it ends for any reason. Never rejects: the caller
 * checks whether the signal was aborted. Upstream:
 * kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes".
 */
export async function watchOnce(
  streams: Streams,
  clock: Clock,
  request: WatchRequest,
  onLine: (line: Exclude<WatchLine, { readonly kind: 'refused' | 'garbled' }>) => void,
  signal: AbortSignal,
): Promise<WatchEnd> {
  const cut = new AbortController();
  try {
    const { quietMs, seconds } = request;
    const response = await streams.stream(queryOf(request), AbortSignal.any([signal, cut.signal]));
    if (response.kind === 'refused') {
      const { status, body, headers } = response.response;
      return { kind: 'refused', statusError: statusErrorOf(status, body), headers, opened: false };
    }
    using idleTimeout = new IdleTimeout({ clock, quietMs, longestMs: seconds * 1000 + graceMs });
    idleTimeout.signal.addEventListener('abort', () => cut.abort(idleTimeout.signal.reason));
    return await follow(response.chunks, idleTimeout, onLine);
  } catch (error) {
    return { kind: 'broken', error };
  } finally {
    // Reading has ended: close a connection that is still open; a joined signal with listeners is
    // not collected before it is aborted.
    cut.abort();
  }
}

async function follow(
  chunks: AsyncIterable<Uint8Array>,
  idleTimeout: IdleTimeout,
  onLine: Parameters<typeof watchOnce>[3],
): Promise<WatchEnd> {
  try {
    for await (const lines of linesOf(chunks)) {
      idleTimeout.heard();
      for (const text of lines) {
        const line = readLine(text);
        if (line.kind === 'garbled') return line;
        if (line.kind === 'refused') return { ...line, headers: {}, opened: true };
        onLine(line);
      }
    }
    return { kind: 'closed' };
  } catch (error) {
    return {
      kind: 'broken',
      error: idleTimeout.signal.aborted ? idleTimeout.signal.reason : error,
    };
  }
}

function queryOf({ collection, version, seconds }: WatchRequest): Parameters<Streams['stream']>[0] {
  return {
    path: collection.path,
    query: {
      ...selectors(collection),
      watch: 1,
      allowWatchBookmarks: true,
      resourceVersion: version,
      timeoutSeconds: seconds,
    },
    accept:
      collection.metadataOnly === true
        ? 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json'
        : 'application/json',
  };
}
