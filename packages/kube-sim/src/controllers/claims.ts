import { part, type Stored } from '../object.ts';
import type { Resource } from '../store/store.ts';
import type { Cluster } from './controller.ts';
import { controllerOf, controllerReference, isDeleting } from './pods.ts';
import { picks } from './selectors.ts';

/**
 * Ownership: owners adopt matching orphans and release objects that their selector does not match
 * (controller_ref_manager.go).
 */

/** Kind of an owner in owner references. */
export type Owning = { readonly apiVersion: string; readonly kind: string };

/** Returns objects of a resource without a controller, in the namespace of the owner. */
function orphansFor(
  { store }: Cluster,
  resource: Resource,
  { metadata }: Stored,
): readonly Stored[] {
  const namespace = metadata.namespace ?? '';
  if (resource === 'pods' || resource === 'replicasets.apps')
    return store.indexed(resource, 'orphan', namespace);
  return store.list(resource, namespace).filter(one => controllerOf(one) === undefined);
}

export type ClaimOptions = {
  readonly resource: Resource;
  readonly owning: Owning;
  /** Returns whether an object that the selector matches may be adopted. */
  readonly isMember?: (object: Stored) => boolean;
  /** Finalizer that is added at adoption, and removed at release. */
  readonly finalizer?: string;
};

function adopt(
  cluster: Cluster,
  owner: Stored,
  { resource, owning, finalizer }: ClaimOptions,
  object: Stored,
): readonly Stored[] {
  const { metadata } = object;
  const ownerReferences = [
    ...(metadata.ownerReferences ?? []),
    controllerReference(owning.apiVersion, owning.kind, owner),
  ];
  const finalizers =
    finalizer === undefined ? undefined : [...new Set([...(metadata.finalizers ?? []), finalizer])];
  const written = cluster.writes.update(resource, {
    ...object,
    metadata: { ...metadata, ownerReferences, ...(finalizers && { finalizers }) },
  });
  return written.kind === 'stored' ? [written.object] : [];
}

function release(
  cluster: Cluster,
  owner: Stored,
  { resource, finalizer }: ClaimOptions,
  object: Stored,
): void {
  const { metadata } = object;
  const ownerReferences = (metadata.ownerReferences ?? []).filter(
    ({ uid }) => uid !== owner.metadata.uid,
  );
  const finalizers = (metadata.finalizers ?? []).filter(one => one !== finalizer);
  cluster.writes.update(resource, {
    ...object,
    metadata: { ...metadata, ownerReferences, finalizers },
  });
}

/** Returns the objects that the owner controls, after adoption and release. */
export function claim(cluster: Cluster, owner: Stored, how: ClaimOptions): readonly Stored[] {
  const { uid, namespace = '', deletionTimestamp } = owner.metadata;
  const selector = part(owner, 'spec')['selector'];
  const fits = (object: Stored): boolean =>
    picks(selector, object) && how.isMember?.(object) !== false;
  const owned = cluster.store
    .indexed(how.resource, 'owner', uid)
    .filter(one => one.metadata.namespace === namespace && controllerOf(one)?.uid === uid);
  const kept = owned.filter(fits);
  if (deletionTimestamp !== undefined) return kept;
  if (kept.length < owned.length)
    for (const one of owned) if (!kept.includes(one)) release(cluster, owner, how, one);
  const orphans = orphansFor(cluster, how.resource, owner).filter(
    one => !isDeleting(one) && fits(one),
  );
  return [...kept, ...orphans.flatMap(one => adopt(cluster, owner, how, one))];
}
