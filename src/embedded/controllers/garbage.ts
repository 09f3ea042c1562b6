import type { OwnerReference, Stored } from '../object.ts';
import { type Cluster, type Controller, split } from './controller.ts';

/** The garbage collector (k8s.io/kubernetes/pkg/controller/garbagecollector): what has lost its last owner goes. */

const foreground = 'foregroundDeletion';
const orphan = 'orphan';

/** A key of this controller names resource, namespace and name. */
const keyOf = (resource: string, { metadata }: Stored): string => `${resource} ${metadata.namespace ?? ''}/${metadata.name}`;

const find = (key: string, cluster: Cluster): { readonly resource: string; readonly object: Stored } | undefined => {
  const cut = key.indexOf(' ');
  const resource = key.slice(0, cut);
  const object = cluster.store.get(resource, ...split(key.slice(cut + 1)));
  return object && { resource, object };
};

/** Resources that own or are owned here; others have no owners worth following in a cluster of this size. */
const owners: Readonly<Record<string, string>> = {
  Deployment: 'deployments.apps',
  ReplicaSet: 'replicasets.apps',
  StatefulSet: 'statefulsets.apps',
  DaemonSet: 'daemonsets.apps',
  Job: 'jobs.batch',
  Node: 'nodes',
  Pod: 'pods',
};
const owned = ['pods', 'replicasets.apps', 'jobs.batch', 'leases.coordination.k8s.io', 'configmaps', 'secrets'];

const ownerOf = (cluster: Cluster, { metadata }: Stored, { kind, name, uid }: OwnerReference): Stored | undefined => {
  const resource = owners[kind];
  const namespace = kind === 'Node' ? '' : (metadata.namespace ?? '');
  const found = resource === undefined ? undefined : cluster.store.get(resource, namespace, name);
  return found?.metadata.uid === uid ? found : undefined;
};

const dependentsOf = (cluster: Cluster, { metadata }: Stored): readonly { readonly resource: string; readonly object: Stored }[] =>
  owned.flatMap(resource => cluster.store.indexed(resource, 'owner', metadata.uid).map(object => ({ resource, object })));

const dropFinalizer = (cluster: Cluster, resource: string, object: Stored, finalizer: string): void => {
  const finalizers = (object.metadata.finalizers ?? []).filter(one => one !== finalizer);
  cluster.writes.update(resource, { ...object, metadata: { ...object.metadata, finalizers } });
};

/** An object that is being deleted waits for what depends on it, or lets it go its own way. */
const finish = (cluster: Cluster, resource: string, object: Stored): void => {
  const finalizers = object.metadata.finalizers ?? [];
  const dependents = dependentsOf(cluster, object);
  if (finalizers.includes(orphan)) {
    for (const one of dependents) {
      const ownerReferences = (one.object.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== object.metadata.uid);
      cluster.writes.update(one.resource, { ...one.object, metadata: { ...one.object.metadata, ownerReferences } });
    }
    dropFinalizer(cluster, resource, object, orphan);
  }
  if (!finalizers.includes(foreground)) return;
  const blocking = dependents.filter(one =>
    one.object.metadata.ownerReferences?.some(({ uid, blockOwnerDeletion }) => uid === object.metadata.uid && blockOwnerDeletion === true),
  );
  for (const { resource: kind, object: one } of dependents) {
    if (one.metadata.deletionTimestamp === undefined)
      cluster.writes.remove(kind, one.metadata.namespace ?? '', one.metadata.name, { uid: one.metadata.uid });
  }
  if (blocking.length === 0) dropFinalizer(cluster, resource, object, foreground);
};

const reconcile = (key: string, cluster: Cluster): number | undefined => {
  const found = find(key, cluster);
  if (found === undefined) return undefined;
  const { resource, object } = found;
  if (object.metadata.deletionTimestamp !== undefined) {
    finish(cluster, resource, object);
    return undefined;
  }
  const references = object.metadata.ownerReferences ?? [];
  const known = references.filter(({ kind }) => owners[kind] !== undefined);
  if (known.length === 0 || known.length < references.length) return undefined;
  if (known.some(reference => ownerOf(cluster, object, reference) !== undefined)) return undefined;
  cluster.writes.remove(resource, object.metadata.namespace ?? '', object.metadata.name, { uid: object.metadata.uid });
  return undefined;
};

export const garbageCollector: Controller = {
  name: 'garbage-collector-controller',
  keysOf: (change, cluster) => {
    const { resource, object } = change;
    const isOwner = Object.values(owners).includes(resource);
    // What depends on it may have to go; and whoever waits for it may go on.
    const dependents =
      change.type === 'removed' && isOwner ? dependentsOf(cluster, object).map(one => keyOf(one.resource, one.object)) : [];
    const waiting = (object.metadata.ownerReferences ?? []).flatMap(reference => {
      const owner = ownerOf(cluster, object, reference);
      const waits = change.type === 'removed' && owner?.metadata.finalizers?.includes(foreground) === true;
      return waits && owner !== undefined ? [keyOf(owners[reference.kind] ?? '', owner)] : [];
    });
    const ends = change.type === 'changed' && object.metadata.deletionTimestamp !== undefined && isOwner;
    const orphaned = change.type === 'added' && (object.metadata.ownerReferences?.length ?? 0) > 0;
    return [...dependents, ...waiting, ...(ends || orphaned ? [keyOf(resource, object)] : [])];
  },
  reconcile,
};
