import { isObject } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import { readEvictionRequest } from '@drydock/core/drain';
import { readLease } from '@drydock/core/lease';
import { type KindAdapter, type MaintenanceRequest, pathOf } from '@drydock/core/request';
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
