import { isObject, pathSegment } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import { readEvictionRequest } from '@drydock/core/drain';
import { readLease } from '@drydock/core/lease';
import { type KindAdapter, type MaintenanceRequest, pathOf } from '@drydock/core/request';
import { type Api, vitalGet } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/**
 * A port that applies the server's responses to our own writes, so that the next pass sees them at
 * once.
 */
export interface CacheUpdater {
  /**
   * Applies a response. `body` is the object as it is stored now; undefined if the write found it
   * gone.
   */
  observe(write: Write, body: unknown): void;
}

/** Returns the uid that a deletion names. */
function deletedUid({ body }: Write): string | undefined {
  const preconditions = body['preconditions'];
  return isObject(preconditions) && typeof preconditions['uid'] === 'string'
    ? preconditions['uid']
    : undefined;
}

/**
 * Reports whether a write that found nothing was about this very object, by the uid or the version
 * that it names: by the time of the response a successor of the same name may be known, which the
 * response is not about.
 */
export function isAbout(
  write: Write,
  { uid, resourceVersion }: Pick<MaintenanceRequest, 'uid' | 'resourceVersion'>,
): boolean {
  const named = deletedUid(write);
  if (named !== undefined) return named === uid;
  const { metadata } = write.body;
  const version = isObject(metadata) ? metadata['resourceVersion'] : undefined;
  return version === undefined || version === resourceVersion;
}

function forgetLease(write: Write, cache: ClusterCache): void {
  const [, namespace, name] = /\/namespaces\/([^/]+)\/leases\/([^/]+)$/.exec(write.path) ?? [];
  if (namespace === undefined || name === undefined) return;
  cache.leases.forget(
    `${decodeURIComponent(namespace)}/${decodeURIComponent(name)}`,
    deletedUid(write),
  );
}

function forgetEvictionRequest(write: Write, cache: ClusterCache): void {
  const [, namespace, name] =
    /\/namespaces\/([^/]+)\/evictionrequests\/([^/]+)$/.exec(write.path) ?? [];
  if (namespace === undefined || name === undefined) return;
  cache.lifecycleEvictions.forgetRequest(
    `${decodeURIComponent(namespace)}/${decodeURIComponent(name)}`,
    deletedUid(write),
  );
}

/** Returns the path of the object, without a subresource. */
export function objectPath(path: string): string {
  return path.replace(/\/status$/, '');
}

/**
 * Forgets a request that does not exist (any more). The watch may never deliver that: it has never
 * seen an object that was created and removed while it lagged behind.
 */
function forgetRequest(write: Write, cache: ClusterCache): void {
  const request = [...cache.requests.values()].find(one => pathOf(one) === objectPath(write.path));
  if (request !== undefined && isAbout(write, request)) cache.forgetRequest(request);
}

/**
 * Reports whether the response to a deletion is an object that a finalizer keeps: it is being
 * deleted from now on. A caller that ignores this would send the deletion again and again until the
 * watch delivers it.
 */
export function isStillThere(body: unknown): boolean {
  return (
    isObject(body) &&
    isObject(body['metadata']) &&
    typeof body['metadata']['deletionTimestamp'] === 'string'
  );
}

/**
 * Reports whether its last finalizer was removed: the server has removed the object at the same
 * moment, and the watch may never deliver that, as above.
 */
export function isRemoved({
  deleting,
  finalizers,
}: Pick<MaintenanceRequest, 'deleting' | 'finalizers'>): boolean {
  return deleting && finalizers.length === 0;
}

/**
 * Returns the updater for writes about nodes and their maintenances. The watch delivers final
 * removals, except those of leases.
 */
export function cacheUpdaterOf(
  cache: ClusterCache,
  adapters: readonly KindAdapter[],
): CacheUpdater {
  return {
    observe: (write, body) => {
      if (write.cache === 'leases' && (write.method === 'DELETE' || body === undefined))
        return forgetLease(write, cache);
      if (write.cache === 'evictionRequests' && (write.method === 'DELETE' || body === undefined))
        return forgetEvictionRequest(write, cache);
      if (body === undefined)
        return write.cache === 'requests' ? forgetRequest(write, cache) : undefined;
      if (write.method === 'DELETE' && !isStillThere(body)) return undefined;
      if (write.cache === 'nodes') return cache.observeNode(cache.nodes.read(body));
      if (write.cache === 'leases') return cache.leases.observe(readLease(body));
      if (write.cache === 'evictionRequests')
        return cache.lifecycleEvictions.observeRequest(readEvictionRequest(body));
      if (write.cache !== 'requests') return undefined;
      const request = adapters.find(({ name }) => name === write.adapter)?.read(body);
      if (request === undefined || typeof request === 'string') return undefined;
      return isRemoved(request) ? cache.forgetRequest(request) : cache.observeRequest(request);
    },
  };
}

/**
 * Returns the path of the object that a write changes or creates: no role allows reading a
 * subresource.
 */
function writtenPath({ method, path, body }: Write): string {
  const { metadata } = body;
  const name = isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  return method === 'POST' ? `${path}/${pathSegment(name)}` : objectPath(path);
}

type Options = {
  readonly api: Api;
  readonly cacheUpdater: CacheUpdater;
  readonly log: Log;
  /** Stores that matter to decisions: writes that only report are repeated anyway. */
  readonly stores: readonly Write['cache'][];
};

/**
 * Writes with an unknown outcome, because their response was lost, and writes of objects that
 * others have changed. While the watch lags behind, a hold that was released without our knowledge
 * would count as still there, and a start that others have to wait for would be invisible. So the
 * changed objects are read again, from the store itself, before anything else is decided. `about`:
 * the node, or the name for everything that is decided together.
 */
export class UnconfirmedWrites {
  readonly #writes = new Map<string, readonly Write[]>();
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  add(about: string, write: Write): void {
    if (this.#options.stores.includes(write.cache))
      this.#writes.set(about, [...(this.#writes.get(about) ?? []), write]);
  }

  /**
   * Reports whether everything about it is as known. An object that cannot be read is requested
   * again the next time.
   */
  async settle(about: string): Promise<boolean> {
    const writes = this.#writes.get(about);
    if (writes === undefined) return true;
    const settled = await Promise.all(writes.map(write => this.#read(write, about)));
    const left = writes.filter((_, index) => settled[index] !== true);
    if (left.length === 0) this.#writes.delete(about);
    else this.#writes.set(about, left);
    return left.length === 0;
  }

  async #read(write: Write, about: string): Promise<boolean> {
    const { api, cacheUpdater, log } = this.#options;
    const found = await vitalGet(api, writtenPath(write), error =>
      log.debug('failed to read a write back; retrying', { about, path: write.path, error }),
    );
    if (found === undefined) return false;
    const { status, body } = found;
    if (status === 200) cacheUpdater.observe({ ...write, method: 'PATCH' }, body);
    // The watch delivers the removal of a node; a lease may have come and gone before the watch
    // came to that version.
    else if (status === 404 && write.cache === 'leases')
      cacheUpdater.observe({ ...write, path: writtenPath(write) }, undefined);
    if (status === 200 || status === 404) return true;
    log.warn('failed to read a write back; retrying', { about, path: write.path, status });
    return false;
  }
}
