import { type JsonObject, sameJson } from '@drydock/apimachinery';
import { at, memoizeOnObject, part, type Stored, strings, text } from '../../object.ts';
import { type Cluster, controllerReference, type Note } from '../controller.ts';
import { claim } from '../selectors.ts';
import {
  canonical,
  counted,
  minReadyOf,
  replicasOf,
  templateHash,
  templateOf,
} from '../workload.ts';
import { limitsOf } from './rollout.ts';

/**
 * ReplicaSets of a Deployment: finding the new one, creating, scaling and deleting them (sync.go,
 * util/deployment_util.go).
 */

export const by = 'deployment-controller';
export const resource = 'deployments.apps';
const sets = 'replicasets.apps';
const owning = { apiVersion: 'apps/v1', kind: 'Deployment' };

const hashLabel = 'pod-template-hash';
export const revisionAnnotation = 'deployment.kubernetes.io/revision';
const historyAnnotation = 'deployment.kubernetes.io/revision-history';
const desiredAnnotation = 'deployment.kubernetes.io/desired-replicas';
const maxAnnotation = 'deployment.kubernetes.io/max-replicas';
/** Annotations that a new ReplicaSet does not inherit from its Deployment. */
const ownAnnotations = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
  'deprecated.deployment.rollback.to',
]);

/** The set with the Deployment's own template, and the others, oldest first. */
export type Sets = { readonly fresh: Stored | undefined; readonly old: readonly Stored[] };

export function allOf({ fresh, old }: Sets): readonly Stored[] {
  return fresh === undefined ? old : [...old, fresh];
}

export function activeOf(all: readonly Stored[]): readonly Stored[] {
  return all.filter(set => replicasOf(set) > 0);
}

export function wantedIn(all: readonly Stored[]): number {
  return all.reduce((sum, set) => sum + replicasOf(set), 0);
}

function withoutHash(template: JsonObject): JsonObject {
  const metadata = part(template, 'metadata');
  const { [hashLabel]: _hash, ...labels } = strings(metadata['labels']);
  return { ...template, metadata: { ...metadata, labels } };
}

function byAge(one: Stored, other: Stored): number {
  return (
    Date.parse(one.metadata.creationTimestamp) - Date.parse(other.metadata.creationTimestamp) ||
    (one.metadata.name < other.metadata.name ? -1 : 1)
  );
}

/** Returns a template without its hash, as text. */
const textOf = memoizeOnObject((template: JsonObject): string => canonical(withoutHash(template)));

/** Returns its ReplicaSets, after adoption and release. */
export function setsOf(cluster: Cluster, deployment: Stored): Sets {
  const all = claim(cluster, deployment, { resource: sets, owning }).toSorted(byAge);
  const wanted = textOf(templateOf(deployment));
  const fresh = all.find(set => textOf(templateOf(set)) === wanted);
  return { fresh, old: all.filter(set => set !== fresh) };
}

function revisionOf({ metadata }: Stored): number {
  return Number(metadata.annotations?.[revisionAnnotation] ?? 0);
}

function nextRevision(old: readonly Stored[]): number {
  return Math.max(0, ...old.map(revisionOf)) + 1;
}

function sized(deployment: Stored): Readonly<Record<string, string>> {
  return {
    [desiredAnnotation]: String(replicasOf(deployment)),
    [maxAnnotation]: String(replicasOf(deployment) + limitsOf(deployment).maxSurge),
  };
}

function inherited({ metadata }: Stored): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key)),
  );
}

/** Returns the annotations of a set that becomes the newest again, with its former revisions. */
function renumbered(set: Stored, revision: number): Readonly<Record<string, string>> {
  const before = revisionOf(set);
  if (before >= revision) return {};
  const known = set.metadata.annotations?.[revisionAnnotation];
  const history = [set.metadata.annotations?.[historyAnnotation], known].filter(Boolean).join(',');
  return {
    [revisionAnnotation]: String(revision),
    ...(known !== undefined && { [historyAnnotation]: history }),
  };
}

function say(
  cluster: Cluster,
  object: Stored,
  said: Pick<Note, 'type' | 'reason' | 'message'>,
): void {
  cluster.record({ by, about: { resource, object }, ...said });
}

function sayScaled(
  cluster: Cluster,
  deployment: Stored,
  set: string,
  from: number,
  to: number,
): void {
  const message = `Scaled ${to > from ? 'up' : 'down'} replica set ${set} from ${from} to ${to}`;
  say(cluster, deployment, { type: 'Normal', reason: 'ScalingReplicaSet', message });
}

function draftOf(deployment: Stored, replicas: number, revision: number): JsonObject {
  const template = templateOf(deployment);
  const hash = templateHash(withoutHash(template));
  const metadata = part(template, 'metadata');
  const labels = { ...strings(metadata['labels']), [hashLabel]: hash };
  const selector = part(deployment, 'spec', 'selector');
  return {
    apiVersion: 'apps/v1',
    kind: 'ReplicaSet',
    metadata: {
      name: `${deployment.metadata.name}-${hash}`,
      namespace: deployment.metadata.namespace ?? '',
      labels,
      annotations: {
        ...inherited(deployment),
        [revisionAnnotation]: String(revision),
        ...sized(deployment),
      },
      ownerReferences: [controllerReference(owning.apiVersion, owning.kind, deployment)],
    },
    spec: {
      replicas,
      minReadySeconds: minReadyOf(deployment),
      selector: {
        ...selector,
        matchLabels: { ...strings(selector['matchLabels']), [hashLabel]: hash },
      },
      template: { ...template, metadata: { ...metadata, labels } },
    },
  };
}

export type CreatedSet =
  | { readonly kind: 'made'; readonly set: Stored; readonly revision: string }
  | { readonly kind: 'failed'; readonly message: string };

/** Creates the set of the newest template. */
export function makeSet(
  cluster: Cluster,
  deployment: Stored,
  { old }: Sets,
  replicas: number,
): CreatedSet {
  const revision = nextRevision(old);
  const draft = draftOf(deployment, replicas, revision);
  const written = cluster.writes.create(sets, draft);
  if (written.kind === 'refused') {
    const name = text(draft, 'metadata', 'name');
    const message = `Failed to create new replica set "${name}": ${written.message}`;
    const isClosing = written.message.includes('because it is being terminated');
    if (!isClosing)
      say(cluster, deployment, { type: 'Warning', reason: 'ReplicaSetCreateError', message });
    return { kind: 'failed', message };
  }
  if (replicas > 0) sayScaled(cluster, deployment, written.object.metadata.name, 0, replicas);
  return { kind: 'made', set: written.object, revision: String(revision) };
}

/**
 * Updates annotations and minReadySeconds of the newest set; returns whether they had to change.
 */
export function syncFresh(cluster: Cluster, deployment: Stored, { fresh, old }: Sets): boolean {
  if (fresh === undefined) return false;
  const before = fresh.metadata.annotations ?? {};
  const annotations = {
    ...before,
    ...inherited(deployment),
    ...renumbered(fresh, nextRevision(old)),
  };
  const minReadySeconds = minReadyOf(deployment);
  if (sameJson(annotations, before) && minReadyOf(fresh) === minReadySeconds) return false;
  const spec = { ...part(fresh, 'spec'), minReadySeconds };
  cluster.writes.update(sets, { ...fresh, metadata: { ...fresh.metadata, annotations }, spec });
  return true;
}

/**
 * Scales a set; returns whether its size changed. `forced` writes new annotations even when only
 * these differ.
 */
export function scale(
  cluster: Cluster,
  deployment: Stored,
  set: Stored,
  replicas: number,
  forced = false,
): boolean {
  const before = replicasOf(set);
  const current = set.metadata.annotations ?? {};
  const annotations = { ...current, ...sized(deployment) };
  const isSame = before === replicas;
  if (isSame && (!forced || sameJson(annotations, current))) return false;
  const written = cluster.writes.update(sets, {
    ...set,
    metadata: { ...set.metadata, annotations },
    spec: { ...part(set, 'spec'), replicas },
  });
  if (written.kind === 'stored' && !isSame)
    sayScaled(cluster, deployment, set.metadata.name, before, replicas);
  return written.kind === 'stored' && !isSame;
}

/** Returns the size of the Deployment when the set was scaled last; undefined when not recorded. */
export function desiredOf({ metadata }: Stored): number | undefined {
  return numberIn(metadata.annotations?.[desiredAnnotation]);
}

/** Returns the maximum number of pods when the set was scaled last. */
export function maxOf({ metadata }: Stored): number | undefined {
  return numberIn(metadata.annotations?.[maxAnnotation]);
}

function numberIn(text: string | undefined): number | undefined {
  return /^\d+$/.test(text ?? '') ? Number(text) : undefined;
}

/** Deletes the oldest empty sets beyond the limit (cleanupDeployment). */
export function forget(cluster: Cluster, deployment: Stored, { old }: Sets): void {
  const limit = Number(at(deployment, 'spec', 'revisionHistoryLimit') ?? 10);
  const alive = old
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .toSorted((one, other) => revisionOf(one) - revisionOf(other));
  for (const set of alive.slice(0, Math.max(0, alive.length - limit))) {
    const { namespace = '', name, generation = 0 } = set.metadata;
    const isEmpty =
      counted(set, 'replicas') === 0 &&
      replicasOf(set) === 0 &&
      generation <= counted(set, 'observedGeneration');
    if (isEmpty) cluster.writes.remove(sets, namespace, name);
  }
}
