import type { Clock } from '@drydock/utils';
import { expired } from '../failure.ts';
import type { Stored } from '../object.ts';
import type { Resource, Store, StoreChange } from '../store/store.ts';
import type { Feeds } from './feeds.ts';
import { isSelected, type Selection } from './selection.ts';

/** An event of a watch, before it is written in the form that the client requests. */
export type WatchUpdate =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Stored }
  | { readonly type: 'BOOKMARK'; readonly version: number; readonly initialEventsEnd: boolean }
  | { readonly type: 'ERROR'; readonly failure: ReturnType<typeof expired> };

export type WatchOptions = {
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

export type WatchContext = {
  readonly store: Store;
  readonly feeds: Feeds;
  readonly clock: Pick<Clock, 'after'>;
};

export interface WatchListener {
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
export function openWatch(
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
