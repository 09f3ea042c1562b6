import type { ApiResponse, Collection } from '../../operator/ports.ts';
import type { Clock } from '../../support/clock.ts';
import type { Streams } from '../http/transport.ts';
import { IdleTimeout } from './idle-timeout.ts';
import { selectors } from './list.ts';
import { type StatusError, statusErrorOf } from './status-error.ts';
import { linesOf, readLine, type WatchLine } from './watch-lines.ts';

/** How a watch came to its end. */
export type WatchEnd =
  | { readonly kind: 'closed' }
  | { readonly kind: 'broken'; readonly error: unknown }
  | { readonly kind: 'garbled'; readonly why: string }
  | { readonly kind: 'refused'; readonly statusError: StatusError; readonly headers: ApiResponse['headers']; readonly opened: boolean };

/** One watch, from one version on. */
export type WatchRequest = {
  readonly collection: Collection;
  readonly version: string;
  /** After which the server is asked to end it, in seconds. */
  readonly seconds: number;
  /** After so much silence the connection is taken for dead, in milliseconds. */
  readonly quietMs: number;
};

/** A server that does not end a watch in time gets so much longer. */
const graceMs = 30_000;

/**
 * Opens a watch and tells of its lines until it ends, however that may be. Never rejects: whether the signal was aborted is for the caller
 * to see. Upstream: kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes".
 */
export const watchOnce = async (
  streams: Streams,
  clock: Clock,
  request: WatchRequest,
  tell: (line: Exclude<WatchLine, { readonly kind: 'refused' | 'garbled' }>) => void,
  signal: AbortSignal,
): Promise<WatchEnd> => {
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
    // Nobody reads on: a connection that is still open goes, and a joined signal that has listeners is never forgotten before it is aborted.
    cut.abort();
  }
};

const follow = async (
  chunks: AsyncIterable<Uint8Array>,
  idleTimeout: IdleTimeout,
  tell: Parameters<typeof watchOnce>[3],
): Promise<WatchEnd> => {
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
    return { kind: 'broken', error: idleTimeout.signal.aborted ? idleTimeout.signal.reason : error };
  }
};

const queryOf = ({ collection, version, seconds }: WatchRequest): Parameters<Streams['stream']>[0] => ({
  path: collection.path,
  query: { ...selectors(collection), watch: 1, allowWatchBookmarks: true, resourceVersion: version, timeoutSeconds: seconds },
  accept:
    collection.metadataOnly === true ? 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json' : 'application/json',
});
