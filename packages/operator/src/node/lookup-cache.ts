import { isMissing, pathSegment } from '@drydock/apimachinery';
import type { Lookup } from '@drydock/core/maintenance';
import { findsNoNode, onNoNode, type Pod, readPod } from '@drydock/core/pod';
import type { Api, ApiResponse } from '@drydock/kube-client';
import { vitalGet } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';
import type { WindowFreshness } from '../cache/window-freshness.ts';

/** A cache of lookup results: nearly all of them do not change any more. */
export class LookupCache {
  /**
   * Volume by claim (`namespace/name`): a bound claim stays bound to its volume. null: the claim
   * does not exist, or is not bound.
   */
  readonly volumes = new Map<string, string | null>();
  /**
   * uids of DaemonSets that pods name and that are gone: no other DaemonSet will ever have them.
   */
  readonly goneDaemonSets = new Set<string>();
  /** Pods that are on no node, by namespace, and the time of the list. */
  readonly unscheduled = new Map<
    string,
    { readonly readAt: Temporal.Instant; readonly pods: readonly Pod[] }
  >();
}

/** A lookup of one object. */
type ObjectLookup = Extract<Lookup, { readonly kind: 'DaemonSet' | 'PersistentVolumeClaim' }>;

/** Splits a key: no namespace has a `/` in it, but a name in a reference may have. */
function partsOf(key: string): readonly [namespace: string, name: string] {
  const cut = key.indexOf('/');
  return [key.slice(0, cut), key.slice(cut + 1)];
}

function pathOf({ kind, key }: ObjectLookup): string {
  const [namespace, name] = partsOf(key).map(pathSegment);
  const [api, resource] =
    kind === 'DaemonSet' ? ['/apis/apps/v1', 'daemonsets'] : ['/api/v1', 'persistentvolumeclaims'];
  return `${api}/namespaces/${namespace}/${resource}/${name}`;
}

/**
 * Stores the result. Returns whether it is final: a DaemonSet that exists is delivered by the
 * watch.
 */
function note(
  lookup: ObjectLookup,
  found: ApiResponse,
  { volumes, goneDaemonSets }: LookupCache,
): boolean {
  if (lookup.kind === 'DaemonSet') {
    if (found.status !== 404) return false;
    goneDaemonSets.add(lookup.uid);
    return true;
  }
  const { spec } = found.body as { readonly spec?: { readonly volumeName?: string } };
  volumes.set(lookup.key, (found.status === 200 && spec?.volumeName) || null);
  return true;
}

type Sources = {
  readonly api: Api;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
  readonly lookedUp: LookupCache;
  readonly knownWindows: WindowFreshness;
};

async function lookUpObject(
  { api, log, lookedUp }: Sources,
  lookup: ObjectLookup,
): Promise<boolean> {
  const { kind, key } = lookup;
  const path = pathOf(lookup);
  const found = await vitalGet(api, path, error =>
    log.warn('failed to look up an object', { kind, key, error }),
  );
  if (found === undefined) return false;
  if (found.status === 200 || isMissing(partsOf(key)[1], found))
    return note(lookup, found, lookedUp);
  log.warn('failed to look up an object', { kind, key, status: found.status });
  return false;
}

/**
 * Number of pods of one namespace that are kept: pods without a node are few, or too many to be
 * read one by one.
 */
const maxPods = 100;

/** Milliseconds until the node is passed again even without a response. */
const strayTimeoutMs = 3000;

/**
 * Lists pods that are on no node. Without the right, or if the server fails, the result is empty:
 * the report only has fewer details on what a budget misses.
 */
async function lookUpUnscheduled(
  { api, clock, log, defects, lookedUp }: Sources,
  namespace: string,
): Promise<boolean> {
  const path = `/api/v1/namespaces/${pathSegment(namespace)}/pods`;
  const readAt = clock.now();
  let pods: readonly Pod[] = [];
  try {
    const found = await api.call({
      method: 'GET',
      path,
      query: { ...onNoNode, limit: 500 },
      priority: 'bulk',
      timeoutMs: strayTimeoutMs,
    });
    const { items = [] } = (found.status === 200 ? found.body : {}) as {
      readonly items?: readonly unknown[];
    };
    pods = items.map(readPod).filter(findsNoNode);
    if (found.status !== 200)
      log.warn('failed to read the pods that are on no node', { namespace, status: found.status });
  } catch (error) {
    log.warn('failed to read the pods that are on no node', {
      namespace,
      error: defects.textOf('Node', path, error),
    });
  }
  lookedUp.unscheduled.set(namespace, { readAt, pods: pods.slice(0, maxPods) });
  return true;
}

function lookUpOne(sources: Sources, lookup: Lookup): Promise<boolean> {
  if (lookup.kind === 'MaintenanceWindows') return sources.knownWindows.find(lookup);
  return lookup.kind === 'UnscheduledPods'
    ? lookUpUnscheduled(sources, lookup.key)
    : lookUpObject(sources, lookup);
}

/**
 * Resolves the lookups with the API server, one after the other. Returns whether anything new is
 * known. Rejects for defects only.
 */
export async function runLookups(sources: Sources, lookups: readonly Lookup[]): Promise<boolean> {
  let isNew = false;
  for (const lookup of lookups) {
    isNew = (await lookUpOne(sources, lookup)) || isNew;
  }
  return isNew;
}
