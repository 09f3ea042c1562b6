import type { PanicHandler } from '@drydock/utils';
import type { CachedObject, Change, WatchHandler } from '../api.ts';

/** Metadata that is needed to track an object. */
export type RawObject = {
  /** `namespace/name`, or the name of a cluster-scoped object. */
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
};

type Metadata = {
  readonly name?: unknown;
  readonly namespace?: unknown;
  readonly uid?: unknown;
  readonly resourceVersion?: unknown;
};

/** Returns an object's identity; undefined when it has none, which is invalid in Kubernetes. */
export function identify(raw: unknown): RawObject | undefined {
  const { name, namespace, uid = '', resourceVersion } = metadataOf(raw);
  if (typeof name !== 'string' || typeof uid !== 'string' || typeof resourceVersion !== 'string')
    return undefined;
  return {
    name: typeof namespace === 'string' && namespace !== '' ? `${namespace}/${name}` : name,
    uid,
    resourceVersion,
  };
}

/** Returns the resourceVersion of a list or of a bookmark. */
export function versionOf(raw: unknown): string | undefined {
  const { resourceVersion } = metadataOf(raw);
  return typeof resourceVersion === 'string' && resourceVersion !== ''
    ? resourceVersion
    : undefined;
}

function metadataOf(raw: unknown): Metadata {
  if (typeof raw !== 'object' || raw === null || !('metadata' in raw)) return {};
  return typeof raw.metadata === 'object' && raw.metadata !== null ? raw.metadata : {};
}

/** Converts an object to the form that is cached; returns undefined to leave it out. */
export type Project<T> = (raw: unknown) => T | undefined;

type Projected<T> =
  | { readonly kind: 'kept'; readonly object: T }
  | { readonly kind: 'excluded' }
  | { readonly kind: 'unreadable' };

/**
 * Cached objects of a collection, by name, with the handler of their changes. A `project` or a
 * handler that throws is reported, without other effect: one odd object or handler does not stop
 * the rest.
 */
export class ReflectorStore<T extends CachedObject> {
  readonly #objects = new Map<string, T>();
  readonly #project: Project<T>;
  readonly #handler: WatchHandler<T>;
  readonly #path: string;
  readonly #defects: PanicHandler;
  #synced = false;

  constructor(path: string, project: Project<T>, handler: WatchHandler<T>, defects: PanicHandler) {
    this.#path = path;
    this.#project = project;
    this.#handler = handler;
    this.#defects = defects;
  }

  /** Stores an object from a list or a watch. */
  put(identity: RawObject, raw: unknown): void {
    const projected = this.#projected(identity, raw);
    if (projected.kind === 'unreadable') return;
    if (projected.kind === 'excluded') return this.#forget(identity.name);
    const { object } = projected;
    const before = this.#objects.get(identity.name);
    if (
      before !== undefined &&
      before.uid === object.uid &&
      before.resourceVersion === object.resourceVersion
    )
      return;
    // Another object under the same name: the first must have been deleted, even if no event for
    // that was seen.
    if (before !== undefined && before.uid !== object.uid) this.#forget(identity.name);
    this.#objects.set(identity.name, object);
    if (before === undefined || before.uid !== object.uid) this.#notify({ type: 'added', object });
    else this.#notify({ type: 'changed', object, before });
  }

  /** Removes an object; `raw` is its last state. */
  remove(identity: RawObject, raw: unknown): void {
    const before = this.#objects.get(identity.name);
    if (before === undefined) return;
    const last = this.#projected(identity, raw);
    this.#forget(
      identity.name,
      last.kind === 'kept' && last.object.uid === before.uid ? last.object : before,
    );
  }

  /**
   * Ends a complete list with these names: cached objects without one of them were deleted unseen.
   */
  retain(names: ReadonlySet<string>, version: string | undefined): void {
    for (const name of this.#objects.keys()) if (!names.has(name)) this.#forget(name);
    const keys = new Set(Array.from(this.#objects.values(), ({ key }) => key));
    if (version !== undefined)
      this.#guard('listed', () => this.#handler.listed?.({ keys, version }));
    if (this.#synced) return;
    this.#synced = true;
    this.#guard('synced', () => this.#handler.synced());
  }

  /** See `WatchHandler.failing`. */
  failing(message: string, status: number | undefined, retryInMs: number): void {
    this.#guard('failing', () =>
      this.#handler.failing?.({ message, retryInMs, ...(status === undefined ? {} : { status }) }),
    );
  }

  #forget(name: string, last = this.#objects.get(name)): void {
    if (last === undefined) return;
    this.#objects.delete(name);
    this.#notify({ type: 'removed', object: last });
  }

  #notify(change: Change<T>): void {
    this.#guard(change.type, () => this.#handler.changed(change), change.object.key);
  }

  #guard(what: string, call: () => void, object?: string): void {
    try {
      call();
    } catch (error) {
      this.#defects.report('Watch', `${this.#path} ${object ?? what}`, error);
    }
  }

  #projected(identity: RawObject, raw: unknown): Projected<T> {
    try {
      const object = this.#project(raw);
      return object === undefined ? { kind: 'excluded' } : { kind: 'kept', object };
    } catch (error) {
      this.#defects.report('Watch', `${this.#path} ${identity.name}`, error);
      return { kind: 'unreadable' };
    }
  }
}

/** An error response of the server: a meta/v1 Status, or any other body. */
export type StatusError = {
  /** HTTP status, or a Status's `code`. */
  readonly status: number | undefined;
  readonly message: string;
  /**
   * Subject of the error.
   * - `version` the resourceVersion or the continue token is not valid (any more): list again
   * - `missing` the collection does not exist
   * - `other` retry later
   */
  readonly about: 'version' | 'missing' | 'other';
};

type Status = {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string }[] };
};

/** Reads an error response. `httpStatus` is undefined for an error event within a stream. */
export function statusErrorOf(httpStatus: number | undefined, body: unknown): StatusError {
  const status: Status =
    typeof body === 'object' && body !== null
      ? body
      : { message: typeof body === 'string' ? body.trim().slice(0, 500) : '' };
  const code = httpStatus ?? status.code;
  const message =
    status.message === undefined || status.message === ''
      ? (status.reason ?? 'no reason given')
      : status.message;
  return {
    status: code,
    message,
    about: isAboutVersion(code, status) ? 'version' : code === 404 ? 'missing' : 'other',
  };
}

/**
 * Returns whether the resourceVersion is the cause. The rule is 410, reason Expired or Gone. 400
 * stands for a version that the server cannot parse. A version from the future (the data store was
 * restored, or another server is behind) is a 504 with a cause: client-go's reflector,
 * isTooLargeResourceVersionError.
 */
function isAboutVersion(code: number | undefined, { reason, message, details }: Status): boolean {
  return (
    code === 410 ||
    code === 400 ||
    reason === 'Expired' ||
    reason === 'Gone' ||
    (details?.causes ?? []).some(cause => cause.reason === 'ResourceVersionTooLarge') ||
    (code === 504 && (message ?? '').includes('Too large resource version'))
  );
}
