import type { Clock } from '@drydock/utils';
import type { ApiResponse, Collection } from '../api.ts';
import type { Streams } from '../http/transport.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { selectors } from './list.ts';
import { type StatusError, statusErrorOf } from './status-error.ts';
import { linesOf, readLine, type WatchLine } from './watch-lines.ts';

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
  tell: (line: Exclude<WatchLine, { readonly kind: 'refused' | 'garbled' }>) => void,
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
    return await follow(response.chunks, idleTimeout, tell);
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
  tell: Parameters<typeof watchOnce>[3],
): Promise<WatchEnd> {
  try {
    for await (const lines of linesOf(chunks)) {
      idleTimeout.heard();
      for (const text of lines) {
        const line = readLine(text);
        if (line.kind === 'garbled') return line;
        if (line.kind === 'refused') return { ...line, headers: {}, opened: true };
        tell(line);
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
