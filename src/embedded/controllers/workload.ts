import { type JsonObject, sameJson } from '../../core/json.ts';
import { at, items, part, type Stored, strings, without } from '../object.ts';
import type { Resource, StoreChange } from '../store/store.ts';
import type { Owning } from './claims.ts';
import { type Cluster, keyOf, type Written } from './controller.ts';
import { controllerOf, controllerReference } from './pods.ts';
import { picks } from './selectors.ts';

/** What all workload controllers do with pods. */

/** The owner of this kind that controls the object, or would adopt it, as `namespace/name`. */
const ownerKeys = (cluster: Cluster, resource: Resource, kind: string, object: Stored): readonly string[] => {
  const { namespace = '' } = object.metadata;
  const controller = controllerOf(object);
  if (controller !== undefined) return controller.kind === kind ? [`${namespace}/${controller.name}`] : [];
  return cluster.store
    .list(resource, namespace)
    .filter(owner => picks(part(owner, 'spec')['selector'], object))
    .map(keyOf);
};

/** Whether nothing has changed of something owned that its owner looks at. */
type IsAlike = (before: Stored, after: Stored) => boolean;

const belongsAlike: IsAlike = ({ metadata: before }, { metadata: after }) =>
  before.ownerReferences === after.ownerReferences && before.labels === after.labels;

/** Keys of the owners that a change may concern: the owner itself, or what it owns. */
export const concerned =
  (resource: Resource, kind: string, owned: Resource, isAlike: IsAlike = () => false) =>
  (change: StoreChange, cluster: Cluster): readonly string[] => {
    if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(change.object)];
    if (change.resource !== owned) return [];
    const { object } = change;
    if (change.type !== 'changed') return ownerKeys(cluster, resource, kind, object);
    const { before } = change;
    if (!belongsAlike(before, object)) return [...new Set([before, object].flatMap(one => ownerKeys(cluster, resource, kind, one)))];
    return isAlike(before, object) ? [] : ownerKeys(cluster, resource, kind, object);
  };

export type More = { readonly metadata: JsonObject; readonly spec?: JsonObject };

/** A pod from a template, named after its owner (GetPodFromTemplate). */
export const podFrom = (owner: Stored, owning: Owning, more: More, template: JsonObject = part(owner, 'spec', 'template')): JsonObject => {
  const metadata = part(template, 'metadata');
  const finalizers = [...items(metadata['finalizers']), ...items(more.metadata['finalizers'])];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...more.metadata,
      namespace: owner.metadata.namespace ?? '',
      labels: { ...strings(metadata['labels']), ...strings(more.metadata['labels']) },
      annotations: { ...strings(metadata['annotations']), ...strings(more.metadata['annotations']) },
      ...(finalizers.length > 0 && { finalizers }),
      ownerReferences: [controllerReference(owning.apiVersion, owning.kind, owner)],
    },
    spec: { ...part(template, 'spec'), ...more.spec },
  };
};

/** Who it is that makes and deletes pods, for the events that say so. */
export type Maker = { readonly by: string; readonly resource: Resource; readonly owner: Stored };

/** Makes a pod and says so (RealPodControl); the answer is why it could not. */
export const makePod = (cluster: Cluster, { by, resource, owner }: Maker, pod: JsonObject): string | undefined => {
  const written = cluster.writes.create('pods', pod);
  const about = { resource, object: owner };
  if (written.kind === 'stored') {
    cluster.record({ by, about, type: 'Normal', reason: 'SuccessfulCreate', message: `Created pod: ${written.object.metadata.name}` });
    return undefined;
  }
  // Nobody has to know that nothing new comes into a namespace that goes.
  if (written.message.includes('because it is being terminated')) return undefined;
  cluster.record({ by, about, type: 'Warning', reason: 'FailedCreate', message: `Error creating: ${written.message}` });
  return written.message;
};

/** Deletes a pod and says so. */
export const deletePod = (cluster: Cluster, { by, resource, owner }: Maker, { metadata }: Stored): void => {
  const written = cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, { uid: metadata.uid });
  if (written.kind === 'refused') return;
  const about = { resource, object: owner };
  cluster.record({ by, about, type: 'Normal', reason: 'SuccessfulDelete', message: `Deleted pod: ${metadata.name}` });
};

/** Writes a status when it differs from the stored one. */
export const report = (cluster: Cluster, resource: Resource, object: Stored, status: JsonObject): Written | undefined => {
  if (sameJson(part(object, 'status'), without(status))) return undefined;
  return cluster.writes.update(resource, { ...object, status }, 'status');
};

/** The API's own defaults, for objects that were made without it. */
export const replicasOf = (owner: Stored): number => Number(at(owner, 'spec', 'replicas') ?? 1);

export const minReadyOf = (owner: Stored): number => Number(at(owner, 'spec', 'minReadySeconds') ?? 0);

/** The pod template of an owner. */
export const templateOf = (owner: Stored): JsonObject => part(owner, 'spec', 'template');

/** Something of the status that is a number. */
export const counted = (object: Stored | undefined, field: string): number => Number(at(object, 'status', field) ?? 0);
