import { readEvictionRequest } from '../../core/drain/responders/eviction-request.ts';
import { isObject } from '../../core/json.ts';
import { readLease } from '../../core/lease/lease.ts';
import { type KindAdapter, type MaintenanceRequest, pathOf } from '../../core/request/request.ts';
import type { Write } from '../../core/write.ts';
import type { ClusterCache } from '../cache/cluster-cache.ts';

/** Takes over what the server answers to our own writes, so that the next look sees it at once. */
export interface CacheUpdater {
  /** `body` is the object as it is stored now; undefined when the write found it gone. */
  observe(write: Write, body: unknown): void;
}

/** The uid that a deletion names. */
const deletedUid = ({ body }: Write): string | undefined => {
  const preconditions = body['preconditions'];
  return isObject(preconditions) && typeof preconditions['uid'] === 'string' ? preconditions['uid'] : undefined;
};

/**
 * Whether a write that found nothing was about this very object, by the uid or the version that it names: by the time of the answer a successor of the same
 * name may be known, of which it says nothing.
 */
export const isAbout = (write: Write, { uid, resourceVersion }: Pick<MaintenanceRequest, 'uid' | 'resourceVersion'>): boolean => {
  const named = deletedUid(write);
  if (named !== undefined) return named === uid;
  const { metadata } = write.body;
  const version = isObject(metadata) ? metadata['resourceVersion'] : undefined;
  return version === undefined || version === resourceVersion;
};

const forgetLease = (write: Write, cache: ClusterCache): void => {
  const [, namespace, name] = /\/namespaces\/([^/]+)\/leases\/([^/]+)$/.exec(write.path) ?? [];
  if (namespace === undefined || name === undefined) return;
  cache.leases.forget(`${decodeURIComponent(namespace)}/${decodeURIComponent(name)}`, deletedUid(write));
};

const forgetEvictionRequest = (write: Write, cache: ClusterCache): void => {
  const [, namespace, name] = /\/namespaces\/([^/]+)\/evictionrequests\/([^/]+)$/.exec(write.path) ?? [];
  if (namespace === undefined || name === undefined) return;
  cache.lifecycleEvictions.forgetRequest(`${decodeURIComponent(namespace)}/${decodeURIComponent(name)}`, deletedUid(write));
};

/** Of the object, without a subresource. */
export const objectPath = (path: string): string => path.replace(/\/status$/, '');

/** It is not there (any more). The watch may never tell: what was made and has gone while it was behind, it has not heard of at all. */
const forgetRequest = (write: Write, cache: ClusterCache): void => {
  const request = [...cache.requests.values()].find(one => pathOf(one) === objectPath(write.path));
  if (request !== undefined && isAbout(write, request)) cache.forgetRequest(request);
};

/**
 * The answer to a deletion is the object where a finalizer keeps it: it is being deleted from now on. Whoever does not learn that asks for the deletion again and again
 * until the watch tells.
 */
export const isStillThere = (body: unknown): boolean =>
  isObject(body) && isObject(body['metadata']) && typeof body['metadata']['deletionTimestamp'] === 'string';

/** Its last finalizer has been taken off: the server has removed it in the same moment, and the watch may never tell, as above. */
export const isRemoved = ({ deleting, finalizers }: Pick<MaintenanceRequest, 'deleting' | 'finalizers'>): boolean =>
  deleting && finalizers.length === 0;

/** For what is written about nodes and their maintenances. Of what is gone for good the watch tells, but for leases. */
export const cacheUpdaterOf = (cache: ClusterCache, adapters: readonly KindAdapter[]): CacheUpdater => ({
  observe: (write, body) => {
    if (write.cache === 'leases' && (write.method === 'DELETE' || body === undefined)) return forgetLease(write, cache);
    if (write.cache === 'evictionRequests' && (write.method === 'DELETE' || body === undefined)) return forgetEvictionRequest(write, cache);
    if (body === undefined) return write.cache === 'requests' ? forgetRequest(write, cache) : undefined;
    if (write.method === 'DELETE' && !isStillThere(body)) return undefined;
    if (write.cache === 'nodes') return cache.observeNode(cache.nodes.read(body));
    if (write.cache === 'leases') return cache.leases.observe(readLease(body));
    if (write.cache === 'evictionRequests') return cache.lifecycleEvictions.observeRequest(readEvictionRequest(body));
    if (write.cache !== 'requests') return undefined;
    const request = adapters.find(({ name }) => name === write.adapter)?.read(body);
    if (request === undefined || typeof request === 'string') return undefined;
    return isRemoved(request) ? cache.forgetRequest(request) : cache.observeRequest(request);
  },
});
