import type { Change } from '@drydock/kube-client';
import type { MomentView } from '../scene.ts';

/** A line of the time line, with the metadata for the watch. */
export type TimelineEvent = {
  readonly key: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly view: MomentView;
};

type RawEvent = {
  readonly metadata: {
    readonly namespace?: string;
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp?: string;
  };
  readonly involvedObject?: {
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
};

/** Returns the fields of an Event that the time line shows. */
export function readTimelineEvent(raw: unknown): TimelineEvent {
  const {
    metadata,
    involvedObject = {},
    type,
    reason = '',
    message = '',
    count,
    lastTimestamp,
    eventTime,
  } = raw as RawEvent;
  const key = `${metadata.namespace ?? ''}/${metadata.name}`;
  const { kind = '', namespace, name = '' } = involvedObject;
  // The namespace of these is the operator's: it is of no interest, and takes space from the rest.
  const place =
    namespace === undefined || namespace === '' || kind === 'MachineMaintenance'
      ? ''
      : `${namespace}/`;
  const view: MomentView = {
    key,
    at: lastTimestamp ?? eventTime ?? metadata.creationTimestamp ?? '',
    warning: type === 'Warning',
    reason,
    message,
    about: `${kind} ${place}${name}`,
    count: count ?? 1,
  };
  return { key, uid: metadata.uid, resourceVersion: metadata.resourceVersion, view };
}

/** Compares by time, newest first. */
function byTime(one: MomentView, other: MomentView): number {
  return one.at === other.at ? (one.key < other.key ? 1 : -1) : one.at < other.at ? 1 : -1;
}

/** Views of one kind by key, with the changes since they were last taken. */
export class ViewStore<V extends { readonly key: string }> {
  readonly #views = new Map<string, V>();
  readonly #dirty = new Set<string>();

  get size(): number {
    return this.#views.size;
  }

  get(key: string): V | undefined {
    return this.#views.get(key);
  }

  values(): readonly V[] {
    return [...this.#views.values()];
  }

  /** Stores a view; returns whether it differs from the one before. An equal view is not sent. */
  put(view: V): boolean {
    const before = this.#views.get(view.key);
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(view)) return false;
    this.#views.set(view.key, view);
    this.#dirty.add(view.key);
    return true;
  }

  drop(key: string): boolean {
    if (!this.#views.delete(key)) return false;
    this.#dirty.add(key);
    return true;
  }

  /** Returns the changed views and the removed keys since the last call. */
  take(): { readonly changed: readonly V[]; readonly gone: readonly string[] } {
    const changed: V[] = [];
    const gone: string[] = [];
    for (const key of this.#dirty) {
      const view = this.#views.get(key);
      if (view === undefined) gone.push(key);
      else changed.push(view);
    }
    this.#dirty.clear();
    return { changed, gone };
  }
}

/** Limit of shown events; a cluster keeps those of an hour, which may be thousands. */
const limit = 150;
/**
 * Number of events above the limit before the oldest are dropped, because sorting at every event
 * would be wasteful.
 */
const slack = 50;

/** The newest events. */
export class Moments {
  readonly #viewStore = new ViewStore<MomentView>();

  apply({ type, object }: Change<TimelineEvent>): void {
    // An expired event has still happened: it is dropped with the oldest.
    if (type === 'removed') return;
    this.#viewStore.put(object.view);
    if (this.#viewStore.size <= limit + slack) return;
    for (const { key } of this.#viewStore.values().toSorted(byTime).slice(limit))
      this.#viewStore.drop(key);
  }

  newest(): readonly MomentView[] {
    return this.#viewStore.values().toSorted(byTime).slice(0, limit);
  }

  take(): ReturnType<ViewStore<MomentView>['take']> {
    return this.#viewStore.take();
  }
}
