import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { at, items, memoizeOnObject, part, type Stored, strings, without } from '../object.ts';
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

/**
 * Letters of generated names: no vowels, so that no words arise (apimachinery
 * rand.SafeEncodeString).
 */
const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns the same text for the same content, whatever the order of its members. */
export function canonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`)
    .join(',')}}`;
}

/** Returns FNV-1a, 32 bits. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return sum;
}

/**
 * Returns the value of `pod-template-hash`: another number than the real controller's, in the same
 * format.
 */
export const templateHash = memoizeOnObject((template: JsonObject): string =>
  Array.from(
    String(hash(canonical(template))),
    digit => letters[digit.charCodeAt(0) % letters.length] ?? '',
  ).join(''),
);

/**
 * History of StatefulSets and DaemonSets, as ControllerRevisions
 * (k8s.io/kubernetes/pkg/controller/history).
 */

const resource = 'controllerrevisions.apps';

function numberOf(revision: Stored): number {
  return Number(at(revision, 'revision') ?? 0);
}

function byNumber(one: Stored, other: Stored): number {
  return (
    numberOf(one) - numberOf(other) ||
    Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp) ||
    (one.metadata.name < other.metadata.name ? -1 : 1)
  );
}

/** Returns the owner's revisions, oldest first. */
export function revisionsOf({ store }: Cluster, { metadata }: Stored): readonly Stored[] {
  return store
    .indexed(resource, 'owner', metadata.uid)
    .filter(one => controllerOf(one)?.uid === metadata.uid)
    .toSorted(byNumber);
}

/** Returns the template that a revision contains. */
export function templateIn(revision: Stored): JsonObject {
  const { $patch: _patch, ...template } = part(revision, 'data', 'spec', 'template');
  return template;
}

/** Label with the hash on an owner's revisions. */
export type Labelling = { readonly owning: Owning; readonly hashLabel: string };

function make(
  cluster: Cluster,
  owner: Stored,
  { owning, hashLabel }: Labelling,
  revision: number,
): Stored | undefined {
  const template = templateOf(owner);
  const hash = templateHash(template);
  const { name, namespace = '', annotations = {} } = owner.metadata;
  const written = cluster.writes.create(resource, {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name: `${name}-${hash}`,
      namespace,
      labels: { ...strings(at(template, 'metadata', 'labels')), [hashLabel]: hash },
      annotations,
      ownerReferences: [controllerReference(owning.apiVersion, owning.kind, owner)],
    },
    data: { spec: { template: { ...template, $patch: 'replace' } } },
    revision,
  });
  return written.kind === 'stored' ? written.object : undefined;
}

function renumber(cluster: Cluster, revision: Stored, to: number): Stored {
  const written = cluster.writes.update(resource, { ...revision, revision: to });
  return written.kind === 'stored' ? written.object : revision;
}

/**
 * Returns the revision of the owner's current template: creates it when there is none, and makes an
 * equal older one the newest.
 */
export function updateRevision(
  cluster: Cluster,
  owner: Stored,
  how: Labelling,
): Stored | undefined {
  const known = revisionsOf(cluster, owner);
  const last = known.at(-1);
  const next = last === undefined ? 1 : numberOf(last) + 1;
  const same = known.findLast(one => sameJson(templateIn(one), templateOf(owner)));
  if (same === undefined) return make(cluster, owner, how, next);
  return same === last ? same : renumber(cluster, same, next);
}

/** Deletes the oldest unused revisions beyond the limit. */
export function forgetRevisions(
  cluster: Cluster,
  owner: Stored,
  isLive: (revision: Stored) => boolean,
): void {
  const limit = Number(at(owner, 'spec', 'revisionHistoryLimit') ?? 10);
  const past = revisionsOf(cluster, owner).filter(one => !isLive(one));
  for (const { metadata } of past.slice(0, Math.max(0, past.length - limit)))
    cluster.writes.remove(resource, metadata.namespace ?? '', metadata.name);
}
