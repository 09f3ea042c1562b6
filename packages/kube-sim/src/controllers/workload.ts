import { type JsonObject, sameJson } from '@drydock/apimachinery';
import { at, items, part, type Stored, strings, without } from '../object.ts';
import type { Resource, StoreChange } from '../store/store.ts';
import {
  type Cluster,
  controllerOf,
  controllerReference,
  keyOf,
  type Written,
} from './controller.ts';
import { type Owning, picks } from './selectors.ts';

/** Common functions of all workload controllers. */

/**
 * Returns the owners of this kind that control the object, or would adopt it, as `namespace/name`.
 */
function ownerKeys(
  cluster: Cluster,
  resource: Resource,
  kind: string,
  object: Stored,
): readonly string[] {
  const { namespace = '' } = object.metadata;
  const controller = controllerOf(object);
  if (controller !== undefined)
    return controller.kind === kind ? [`${namespace}/${controller.name}`] : [];
  return cluster.store
    .list(resource, namespace)
    .filter(owner => picks(part(owner, 'spec')['selector'], object))
    .map(keyOf);
}

/** Returns whether two versions of a dependent are equal for its owner. */
type IsAlike = (before: Stored, after: Stored) => boolean;

const belongsAlike: IsAlike = ({ metadata: before }, { metadata: after }) =>
  before.ownerReferences === after.ownerReferences && before.labels === after.labels;

/**
 * Returns the keys of the owners that a change may concern: the owner itself, or that of the
 * changed dependent.
 */
export function concerned(
  resource: Resource,
  kind: string,
  owned: Resource,
  isAlike: IsAlike = () => false,
) {
  return (change: StoreChange, cluster: Cluster): readonly string[] => {
    if (change.resource === resource)
      return change.type === 'removed' ? [] : [keyOf(change.object)];
    if (change.resource !== owned) return [];
    const { object } = change;
    if (change.type !== 'changed') return ownerKeys(cluster, resource, kind, object);
    const { before } = change;
    if (!belongsAlike(before, object))
      return [...new Set([before, object].flatMap(one => ownerKeys(cluster, resource, kind, one)))];
    return isAlike(before, object) ? [] : ownerKeys(cluster, resource, kind, object);
  };
}

export type More = { readonly metadata: JsonObject; readonly spec?: JsonObject };

/** Returns a pod from a template, named after its owner (GetPodFromTemplate). */
export function podFrom(
  owner: Stored,
  owning: Owning,
  more: More,
  template: JsonObject = part(owner, 'spec', 'template'),
): JsonObject {
  const metadata = part(template, 'metadata');
  const finalizers = [...items(metadata['finalizers']), ...items(more.metadata['finalizers'])];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...more.metadata,
      namespace: owner.metadata.namespace ?? '',
      labels: { ...strings(metadata['labels']), ...strings(more.metadata['labels']) },
      annotations: {
        ...strings(metadata['annotations']),
        ...strings(more.metadata['annotations']),
      },
      ...(finalizers.length > 0 && { finalizers }),
      ownerReferences: [controllerReference(owning.apiVersion, owning.kind, owner)],
    },
    spec: { ...part(template, 'spec'), ...more.spec },
  };
}

/** Controller that creates and deletes pods, for its events. */
export type Maker = { readonly by: string; readonly resource: Resource; readonly owner: Stored };

/** Creates a pod and records an event (RealPodControl); returns the error, if any. */
export function makePod(
  cluster: Cluster,
  { by, resource, owner }: Maker,
  pod: JsonObject,
): string | undefined {
  const written = cluster.writes.create('pods', pod);
  const about = { resource, object: owner };
  if (written.kind === 'stored') {
    cluster.record({
      by,
      about,
      type: 'Normal',
      reason: 'SuccessfulCreate',
      message: `Created pod: ${written.object.metadata.name}`,
    });
    return undefined;
  }
  // A terminating namespace needs no event about its refused pods.
  if (written.message.includes('because it is being terminated')) return undefined;
  cluster.record({
    by,
    about,
    type: 'Warning',
    reason: 'FailedCreate',
    message: `Error creating: ${written.message}`,
  });
  return written.message;
}

/** Deletes a pod and records an event. */
export function deletePod(
  cluster: Cluster,
  { by, resource, owner }: Maker,
  { metadata }: Stored,
): void {
  const written = cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, {
    uid: metadata.uid,
  });
  if (written.kind === 'refused') return;
  const about = { resource, object: owner };
  cluster.record({
    by,
    about,
    type: 'Normal',
    reason: 'SuccessfulDelete',
    message: `Deleted pod: ${metadata.name}`,
  });
}

/** Writes a status when it differs from the stored one. */
export function report(
  cluster: Cluster,
  resource: Resource,
  object: Stored,
  status: JsonObject,
): Written | undefined {
  if (sameJson(part(object, 'status'), without(status))) return undefined;
  return cluster.writes.update(resource, { ...object, status }, 'status');
}

/** Returns the replicas, with the API's default for objects without a value. */
export function replicasOf(owner: Stored): number {
  return Number(at(owner, 'spec', 'replicas') ?? 1);
}

export function minReadyOf(owner: Stored): number {
  return Number(at(owner, 'spec', 'minReadySeconds') ?? 0);
}

/** Returns the pod template of an owner. */
export function templateOf(owner: Stored): JsonObject {
  return part(owner, 'spec', 'template');
}

/** Returns a number in the status. */
export function counted(object: Stored | undefined, field: string): number {
  return Number(at(object, 'status', field) ?? 0);
}
