import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { at, memoizeOnObject, part, type Stored, strings } from '../object.ts';
import { type Cluster, controllerOf, controllerReference } from './controller.ts';
import type { Owning } from './selectors.ts';
import { templateOf } from './workload.ts';

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
