import type { JsonObject } from '@drydock/apimachinery';
import type { Clock } from '@drydock/utils';
import { badRequest, expired, unnamed } from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import type { Stored } from '../object.ts';
import type { Resource, Store, StoreChange } from '../store/store.ts';
import { type ApiRequest, failed, type Response, type WatchEvent } from './message.ts';
import { formOf, isSelected, onlyMetadata, type Selection, shown, tableOf } from './render.ts';
import { type Feeds, includedFrom, isYes, number, type Server, version } from './server.ts';

/** An event of a watch, before it is written in the form that the client requests. */
type WatchUpdate =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Stored }
  | { readonly type: 'BOOKMARK'; readonly version: number; readonly initialEventsEnd: boolean }
  | { readonly type: 'ERROR'; readonly failure: ReturnType<typeof expired> };

type WatchOptions = {
  readonly resource: Resource;
  readonly selection: Selection;
  /** Version to start after; undefined starts with all present objects. */
  readonly after: number | undefined;
  readonly bookmarks: boolean;
  /** Whether a bookmark marks the end of the initial objects. */
  readonly marksInitialEnd: boolean;
  /** Milliseconds until the server ends it. */
  readonly lastsMs: number;
};

type WatchContext = {
  readonly store: Store;
  readonly feeds: Feeds;
  readonly clock: Pick<Clock, 'after'>;
};

interface WatchListener {
  told(told: WatchUpdate): void;
  ended(): void;
}

const bookmarkEveryMs = 60_000;

/**
 * Returns the event for a watch with a selector: cacheWatcher.convertToWatchEvent of
 * apiserver/pkg/storage/cacher.
 */
function toldOf(change: StoreChange, selection: Selection): WatchUpdate | undefined {
  const was = change.type !== 'added' && isSelected(change.before, selection);
  const is = change.type !== 'removed' && isSelected(change.object, selection);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object: change.object };
  if (!was) return undefined;
  // An object that leaves the selection is sent in its former state, with the version of the
  // change.
  const last =
    change.type === 'removed' ? change.object : withVersion(change.before, change.version);
  return { type: 'DELETED', object: last };
}

function withVersion(object: Stored, version: number): Stored {
  return {
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(version) },
  };
}

/**
 * Watches a collection: initial objects or missed changes, then every change, in order and at once.
 * Ends when it is closed or its time is over. Upstream: api-concepts, "Efficient detection of
 * changes".
 */
function openWatch(
  around: WatchContext,
  options: WatchOptions,
  hears: WatchListener,
): { close(): void } {
  const { store, clock, feeds } = around;
  const { resource, selection, after } = options;
  const missed = after === undefined ? [] : store.changesAfter(resource, after);
  if (missed === undefined) {
    hears.told({
      type: 'ERROR',
      failure: expired(`too old resource version: ${String(after)} (${store.version})`),
    });
    hears.ended();
    return { close: () => {} };
  }
  const ends: (() => void)[] = [];
  const close = (): void => {
    for (const end of ends.splice(0)) end();
  };
  if (after === undefined)
    for (const object of store.list(resource, selection.namespace))
      tellPresent(object, selection, hears);
  const tell = (change: StoreChange): void => {
    const told = toldOf(change, selection);
    if (told !== undefined) hears.told(told);
  };
  for (const change of missed) tell(change);
  if (options.marksInitialEnd)
    hears.told({ type: 'BOOKMARK', version: store.version, initialEventsEnd: true });
  ends.push(feeds.follow(resource, selection, tell));
  if (options.bookmarks) ends.push(bookmarks(around, hears));
  ends.push(
    clock.after(options.lastsMs, () => {
      if (options.bookmarks)
        hears.told({ type: 'BOOKMARK', version: store.version, initialEventsEnd: false });
      close();
      hears.ended();
    }),
  );
  return { close };
}

function tellPresent(object: Stored, selection: Selection, hears: WatchListener): void {
  if (isSelected(object, selection)) hears.told({ type: 'ADDED', object });
}

function bookmarks({ clock, store }: WatchContext, hears: WatchListener): () => void {
  let cancel = (): void => {};
  const next = (): void => {
    cancel = clock.after(bookmarkEveryMs, () => {
      hears.told({ type: 'BOOKMARK', version: store.version, initialEventsEnd: false });
      next();
    });
  };
  next();
  return () => cancel();
}

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
