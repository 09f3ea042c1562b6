import { sameJson } from '@drydock/apimachinery';
import type { KindTable } from '../kinds/kind-table.ts';
import type { OwnerReference, Stored } from '../object.ts';
import type { Resource, StoreChange } from '../store/store.ts';
import { type Cluster, type Controller, split } from './controller.ts';

/**
 * The garbage collector (k8s.io/kubernetes/pkg/controller/garbagecollector): deletes objects whose
 * last owner is gone.
 */

const foreground = 'foregroundDeletion';
const orphan = 'orphan';

type Item = { readonly resource: Resource; readonly object: Stored };

/** Returns the key in this controller: resource, namespace and name. */
function itemKey({ resource, object: { metadata } }: Item): string {
  return `${resource} ${metadata.namespace ?? ''}/${metadata.name}`;
}

function find(key: string, { store }: Cluster): Item | undefined {
  const cut = key.indexOf(' ');
  const resource = key.slice(0, cut);
  const object = store.get(resource, ...split(key.slice(cut + 1)));
  return object && { resource, object };
}

function referencesOf({ metadata }: Stored): readonly OwnerReference[] {
  return metadata.ownerReferences ?? [];
}

function isWaiting({ metadata }: Stored): boolean {
  return (
    metadata.deletionTimestamp !== undefined && metadata.finalizers?.includes(foreground) === true
  );
}

/** Graph of owners, over the currently served kinds. */
class Graph {
  readonly #kinds: KindTable;

  constructor(kinds: KindTable) {
    this.#kinds = kinds;
  }

  /**
   * Returns the owner in a reference; `unknown` when its kind is not served, undefined when it does
   * not exist.
   */
  owner(
    { store }: Cluster,
    { metadata }: Stored,
    { apiVersion, kind, name, uid }: OwnerReference,
  ): Item | 'unknown' | undefined {
    const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const found = this.#kinds.named(group ?? '', kind, version);
    if (found === undefined) return 'unknown';
    const object = store.get(
      found.resource,
      found.namespaced ? (metadata.namespace ?? '') : '',
      name,
    );
    return object?.metadata.uid === uid ? { resource: found.resource, object } : undefined;
  }

  dependents({ store }: Cluster, { metadata }: Stored): readonly Item[] {
    const resources = new Set(this.#kinds.all().map(({ resource }) => resource));
    return [...resources].flatMap(resource =>
      store.indexed(resource, 'owner', metadata.uid).map(object => ({ resource, object })),
    );
  }
}

function dropFinalizer(cluster: Cluster, { resource, object }: Item, finalizer: string): void {
  const finalizers = (object.metadata.finalizers ?? []).filter(one => one !== finalizer);
  cluster.writes.update(resource, { ...object, metadata: { ...object.metadata, finalizers } });
}

function dropOwners(
  cluster: Cluster,
  { resource, object }: Item,
  drops: (reference: OwnerReference) => boolean,
): void {
  const ownerReferences = referencesOf(object).filter(reference => !drops(reference));
  cluster.writes.update(resource, { ...object, metadata: { ...object.metadata, ownerReferences } });
}

function remove(
  { writes }: Cluster,
  { resource, object }: Item,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan',
): void {
  const { namespace = '', name, uid } = object.metadata;
  writes.remove(resource, namespace, name, { uid, propagationPolicy });
}

function blocks({ object }: Item, owner: Stored): boolean {
  return referencesOf(object).some(
    ({ uid, blockOwnerDeletion }) => uid === owner.metadata.uid && blockOwnerDeletion === true,
  );
}

/** Orphans the dependents of an object that is being deleted, or waits for them. */
function finish(graph: Graph, cluster: Cluster, item: Item): void {
  const finalizers = item.object.metadata.finalizers ?? [];
  const { uid } = item.object.metadata;
  if (finalizers.includes(orphan)) {
    for (const one of graph.dependents(cluster, item.object))
      dropOwners(cluster, one, reference => reference.uid === uid);
    dropFinalizer(cluster, item, orphan);
    return;
  }
  if (!finalizers.includes(foreground)) return;
  const isBlocked = graph.dependents(cluster, item.object).some(one => blocks(one, item.object));
  if (!isBlocked) dropFinalizer(cluster, item, foreground);
}

/** Returns the deletion policy for dependents, by the object's finalizers (attemptToDeleteItem). */
function policyOf({ metadata }: Stored): 'Background' | 'Foreground' | 'Orphan' {
  if (metadata.finalizers?.includes(orphan) === true) return 'Orphan';
  return metadata.finalizers?.includes(foreground) === true ? 'Foreground' : 'Background';
}

/** Checks the owners of an object, and deletes it when none is left. */
function judge(graph: Graph, cluster: Cluster, item: Item): void {
  const { object } = item;
  const owners = referencesOf(object).map(
    reference => [reference, graph.owner(cluster, object, reference)] as const,
  );
  if (owners.length === 0 || owners.some(([, owner]) => owner === 'unknown')) return;
  const waits = (owner: Item | 'unknown' | undefined): boolean =>
    typeof owner === 'object' && isWaiting(owner.object);
  const lost = owners
    .filter(([, owner]) => owner === undefined || waits(owner))
    .map(([{ uid }]) => uid);
  if (lost.length === 0) return;
  if (lost.length < owners.length)
    return dropOwners(cluster, item, ({ uid }) => lost.includes(uid));
  const isWaitedFor = owners.some(([, owner]) => waits(owner));
  const mustWait = isWaitedFor && graph.dependents(cluster, object).length > 0;
  remove(cluster, item, mustWait ? 'Foreground' : policyOf(object));
}

function sameOwners(before: Stored, object: Stored): boolean {
  return (
    before.metadata.ownerReferences === object.metadata.ownerReferences ||
    sameJson([...referencesOf(before)], [...referencesOf(object)])
  );
}

/** Returns owners that wait for the removal of this dependent, or of its reference. */
function waitingOwners(graph: Graph, cluster: Cluster, object: Stored): readonly Item[] {
  return referencesOf(object).flatMap(reference => {
    const owner = graph.owner(cluster, object, reference);
    return typeof owner === 'object' && isWaiting(owner.object) ? [owner] : [];
  });
}

function concerned(graph: Graph, change: StoreChange, cluster: Cluster): readonly Item[] {
  const { resource, object, type } = change;
  if (type === 'removed')
    return [...graph.dependents(cluster, object), ...waitingOwners(graph, cluster, object)];
  if (type === 'added') return referencesOf(object).length > 0 ? [{ resource, object }] : [];
  const { before } = change;
  const isGoing =
    object.metadata.deletionTimestamp !== undefined &&
    (object.metadata.finalizers ?? []).length > 0;
  const waitsNow = isWaiting(object) && !isWaiting(before);
  const moved = sameOwners(before, object)
    ? []
    : [{ resource, object }, ...waitingOwners(graph, cluster, before)];
  return [
    ...(isGoing ? [{ resource, object }] : []),
    ...(waitsNow ? graph.dependents(cluster, object) : []),
    ...moved,
  ];
}

/** Returns the controller, for all served kinds. */
export function garbageCollector(kinds: KindTable): Controller {
  const graph = new Graph(kinds);
  return {
    name: 'garbage-collector-controller',
    keysOf: (change, cluster) => {
      // Events come in thousands, and nothing waits for them.
      if (change.resource === 'events') return [];
      return concerned(graph, change, cluster).map(itemKey);
    },
    reconcile: (key, cluster) => {
      const item = find(key, cluster);
      if (item === undefined) return undefined;
      if (item.object.metadata.deletionTimestamp === undefined) judge(graph, cluster, item);
      else finish(graph, cluster, item);
      return undefined;
    },
  };
}
