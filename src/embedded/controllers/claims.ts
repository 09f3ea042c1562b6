import { part, type Stored } from '../object.ts';
import type { Resource } from '../store/store.ts';
import type { Cluster } from './controller.ts';
import { controllerOf, controllerReference, isDeleting } from './pods.ts';
import { picks } from './selectors.ts';

/** Who belongs to whom: owners take up what nobody controls and let go what their selector does not pick (controller_ref_manager.go). */

/** How a kind names itself in owner references. */
export type Owning = { readonly apiVersion: string; readonly kind: string };

/** Objects of a resource that nobody controls, in the namespace of the owner. */
const orphansFor = ({ store }: Cluster, resource: Resource, { metadata }: Stored): readonly Stored[] => {
  const namespace = metadata.namespace ?? '';
  if (resource === 'pods' || resource === 'replicasets.apps') return store.indexed(resource, 'orphan', namespace);
  return store.list(resource, namespace).filter(one => controllerOf(one) === undefined);
};

export type ClaimOptions = {
  readonly resource: Resource;
  readonly owning: Owning;
  /** Of those that the selector picks, only these may be taken up. */
  readonly isMember?: (object: Stored) => boolean;
  /** Put on what is taken up, and taken off what is let go. */
  readonly finalizer?: string;
};

const adopt = (cluster: Cluster, owner: Stored, { resource, owning, finalizer }: ClaimOptions, object: Stored): readonly Stored[] => {
  const { metadata } = object;
  const ownerReferences = [...(metadata.ownerReferences ?? []), controllerReference(owning.apiVersion, owning.kind, owner)];
  const finalizers = finalizer === undefined ? undefined : [...new Set([...(metadata.finalizers ?? []), finalizer])];
  const written = cluster.writes.update(resource, {
    ...object,
    metadata: { ...metadata, ownerReferences, ...(finalizers && { finalizers }) },
  });
  return written.kind === 'stored' ? [written.object] : [];
};

const release = (cluster: Cluster, owner: Stored, { resource, finalizer }: ClaimOptions, object: Stored): void => {
  const { metadata } = object;
  const ownerReferences = (metadata.ownerReferences ?? []).filter(({ uid }) => uid !== owner.metadata.uid);
  const finalizers = (metadata.finalizers ?? []).filter(one => one !== finalizer);
  cluster.writes.update(resource, { ...object, metadata: { ...metadata, ownerReferences, finalizers } });
};

/** The objects that the owner controls, after it has taken up and let go what it has to. */
export const claim = (cluster: Cluster, owner: Stored, how: ClaimOptions): readonly Stored[] => {
  const { uid, namespace = '', deletionTimestamp } = owner.metadata;
  const selector = part(owner, 'spec')['selector'];
  const fits = (object: Stored): boolean => picks(selector, object) && how.isMember?.(object) !== false;
  const owned = cluster.store
    .indexed(how.resource, 'owner', uid)
    .filter(one => one.metadata.namespace === namespace && controllerOf(one)?.uid === uid);
  const kept = owned.filter(fits);
  if (deletionTimestamp !== undefined) return kept;
  if (kept.length < owned.length) for (const one of owned) if (!kept.includes(one)) release(cluster, owner, how, one);
  const orphans = orphansFor(cluster, how.resource, owner).filter(one => !isDeleting(one) && fits(one));
  return [...kept, ...orphans.flatMap(one => adopt(cluster, owner, how, one))];
};
