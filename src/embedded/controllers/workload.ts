import type { JsonObject } from '../../core/json.ts';
import { part, type Stored, strings } from '../object.ts';
import type { Cluster, Written } from './controller.ts';
import { controllerOf, controllerReference } from './pods.ts';
import { picks } from './selectors.ts';

/** What all workload controllers do with pods. */

/** How a kind names itself in owner references. */
export type Owning = { readonly apiVersion: string; readonly kind: string };

/** The pods that the owner controls, or may: those that nobody controls and its selector picks (ControllerRefManager's adoption). */
export const podsOf = (cluster: Cluster, owner: Stored): readonly Stored[] => {
  const { uid, namespace = '' } = owner.metadata;
  return cluster.store.indexed('pods', 'owner', uid).filter(pod => pod.metadata.namespace === namespace && controllerOf(pod)?.uid === uid);
};

/** The owner of this kind that controls the object, or would adopt it, as `namespace/name`. */
export const ownerKeys = (cluster: Cluster, resource: string, kind: string, object: Stored): readonly string[] => {
  const { namespace = '' } = object.metadata;
  const controller = controllerOf(object);
  if (controller !== undefined) return controller.kind === kind ? [`${namespace}/${controller.name}`] : [];
  return cluster.store
    .list(resource, namespace)
    .filter(owner => picks(part(owner, 'spec')['selector'], object))
    .map(owner => `${namespace}/${owner.metadata.name}`);
};

/** A pod from a template, named after its owner. */
export const podFrom = (owner: Stored, owning: Owning, more: { readonly metadata: JsonObject; readonly spec?: JsonObject }): JsonObject => {
  const template = part(owner, 'spec', 'template');
  const metadata = part(template, 'metadata');
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...more.metadata,
      namespace: owner.metadata.namespace ?? '',
      labels: { ...strings(metadata['labels']), ...strings(more.metadata['labels']) },
      annotations: strings(metadata['annotations']),
      ownerReferences: [controllerReference(owning.apiVersion, owning.kind, owner)],
    },
    spec: { ...part(template, 'spec'), ...more.spec },
  };
};

/** Takes up pods that nobody controls and the owner's selector picks. */
export const adopt = (cluster: Cluster, owner: Stored, owning: Owning): void => {
  const selector = part(owner, 'spec')['selector'];
  if (owner.metadata.deletionTimestamp !== undefined) return;
  for (const pod of cluster.store.indexed('pods', 'orphan', owner.metadata.namespace ?? '')) {
    if (pod.metadata.deletionTimestamp !== undefined || !picks(selector, pod)) continue;
    const ownerReferences = [...(pod.metadata.ownerReferences ?? []), controllerReference(owning.apiVersion, owning.kind, owner)];
    cluster.writes.update('pods', { ...pod, metadata: { ...pod.metadata, ownerReferences } });
  }
};

/** Writes a status when it differs from the stored one. */
export const report = (cluster: Cluster, resource: string, object: Stored, status: JsonObject): Written | undefined => {
  const before = part(object, 'status');
  if (JSON.stringify(sorted(before)) === JSON.stringify(sorted(status))) return undefined;
  return cluster.writes.update(resource, { ...object, status }, 'status');
};

const sorted = (value: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
