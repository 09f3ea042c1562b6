import type { JsonObject } from '@drydock/apimachinery';
import { badRequest, unnamed } from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Stored } from '../object.ts';
import { includedFrom } from './included.ts';
import { type ApiRequest, failed, type Response, type WatchEvent } from './message.ts';
import { isYes, number, version } from './params.ts';
import { formOf, onlyMetadata, shown, tableOf } from './render.ts';
import type { Selection } from './selection.ts';
import type { Server } from './server.ts';
import { openWatch, type WatchUpdate } from './watch.ts';

/**
 * Minimum duration in milliseconds, the API server's minRequestTimeout: a watch without its own
 * limit lasts half an hour to an hour.
 */
const minMs = 1_800_000;

type Write = (object: Stored) => JsonObject;

/** Returns the writer of this watch's objects. Only the first table has column definitions. */
function writer(server: Server, request: ApiRequest, kind: Kind): Write {
  const form = formOf(request.accept);
  if (form === 'object') return object => shown(kind, object);
  if (form === 'metadata') return onlyMetadata;
  let heads = true;
  return object => {
    const head = { resourceVersion: object.metadata.resourceVersion };
    const table = tableOf(kind, head, [object], {
      include: includedFrom(request),
      heads,
      now: server.clock.now(),
    });
    heads = false;
    return table;
  };
}

/** Returns a bookmark: an empty object of the kind, with a version. */
function bookmark(kind: Kind, told: Extract<WatchUpdate, { readonly type: 'BOOKMARK' }>): Stored {
  const annotations = told.initialEventsEnd
    ? { annotations: { 'k8s.io/initial-events-end': 'true' } }
    : {};
  const metadata = { resourceVersion: String(told.version), ...annotations };
  const read = kind.shape.kind === 'go' ? kind.read({ metadata }) : undefined;
  return (read?.kind === 'read' ? read.object : { metadata }) as Stored;
}

function eventOf(kind: Kind, told: WatchUpdate, write: Write): WatchEvent {
  if (told.type === 'ERROR') return { type: 'ERROR', object: told.failure };
  if (told.type === 'BOOKMARK') return { type: 'BOOKMARK', object: write(bookmark(kind, told)) };
  return { type: told.type, object: write(told.object) };
}

/** Handles a list with `watch=1`. */
export function watching(
  server: Server,
  request: ApiRequest,
  kind: Kind,
  selection: Selection,
): Response {
  const { query } = request;
  const text = query.get('resourceVersion');
  const from = version(text);
  if (from.kind === 'refused') {
    const quoted = JSON.stringify(text);
    return failed(
      unnamed(
        500,
        `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: invalid syntax`,
      ),
    );
  }
  const timeout = number(query.get('timeoutSeconds'));
  if (timeout.kind === 'refused') return failed(badRequest(timeout.failure.message));
  const initial = isYes(query.get('sendInitialEvents'));
  const options = {
    resource: kind.resource,
    selection,
    after: from.value === undefined || from.value === 0 || initial ? undefined : from.value,
    bookmarks: isYes(query.get('allowWatchBookmarks')),
    marksInitialEnd: initial && isYes(query.get('allowWatchBookmarks')),
    lastsMs:
      timeout.value === undefined ? minMs * (1 + server.registry.random()) : timeout.value * 1000,
  };
  return {
    kind: 'watch',
    open: hears => {
      const write = writer(server, request, kind);
      const around = { store: server.registry.store, feeds: server.feeds, clock: server.clock };
      return openWatch(around, options, {
        told: told => hears.event(eventOf(kind, told, write)),
        ended: () => hears.ended(),
      });
    },
  };
}
