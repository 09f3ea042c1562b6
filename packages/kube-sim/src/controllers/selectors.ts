import { isObject, type Json, matches } from '@drydock/apimachinery';
import { labelPlace } from '../kinds/kind.ts';
import { at, byName, part, type Stored, strings } from '../object.ts';
import type { Resource, Store } from '../store/store.ts';
import { type Cluster, controllerOf, controllerReference, isDeleting } from './controller.ts';

/**
 * Returns whether a label selector (metav1.LabelSelector) matches the object; a missing one matches
 * nothing.
 */
export function picks(selector: Json | undefined, { metadata }: Stored): boolean {
  return matches(isObject(selector) ? selector : undefined, strings(metadata.labels));
}

/**
 * Returns the pods of a namespace that a selector matches, in the order of their names: checks only
 * those with its rarest label.
 */
export function pickedPods(
  store: Store,
  selector: Json | undefined,
  namespace: string,
): readonly Stored[] {
  const labels = Object.entries(strings(at(selector, 'matchLabels')));
  if (labels.length === 0) return store.list('pods', namespace).filter(pod => picks(selector, pod));
  const found = labels.map(label => store.indexed('pods', 'label', labelPlace(namespace, label)));
  const rarest = found.reduce((one, other) => (other.length < one.length ? other : one));
  return rarest.filter(pod => picks(selector, pod)).toSorted(byName);
}

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
