import type { JsonObject } from '@drydock/apimachinery';
import { at, objects, part, type Stored, text } from '../../object.ts';
import {
  type Cluster,
  type Controller,
  controllerOf,
  isActive,
  keyOf,
  split,
} from '../controller.ts';
import { conditionOf, conditionsOf } from '../namespaces.ts';
import { deletionOrder } from '../replica-sets/replica-set.ts';
import { makePod, podFrom, templateOf } from '../workload.ts';
import {
  completionsOf,
  finishedMs,
  type IndexRanges,
  indexKey,
  indexOf,
  isFinishedJob,
  isIndexed,
  isTracked,
  tracking,
} from './count.ts';

/** Pods of a Job: their creation, and the order of their deletion. */

export const resource = 'jobs.batch';
export const by = 'job-controller';
export const owning = { apiVersion: 'batch/v1', kind: 'Job' };

const variable = 'JOB_COMPLETION_INDEX';

function withVariable(container: JsonObject): JsonObject {
  const env = objects(container['env']);
  if (env.some(({ name }) => name === variable)) return container;
  const valueFrom = { fieldRef: { fieldPath: `metadata.labels['${indexKey}']` } };
  return { ...container, env: [...env, { name: variable, valueFrom }] };
}

function indexedSpec(job: Stored, index: number): JsonObject {
  const spec = part(templateOf(job), 'spec');
  const of = (field: string): JsonObject =>
    spec[field] === undefined ? {} : { [field]: objects(spec[field]).map(withVariable) };
  return {
    hostname: `${job.metadata.name}-${index}`,
    ...of('containers'),
    ...of('initContainers'),
  };
}

/** Creates a pod, for an index where the Job has them; returns the error, if any. */
export function makeJobPod(
  cluster: Cluster,
  job: Stored,
  index: number | undefined,
): string | undefined {
  const generateName = `${job.metadata.name}-${index === undefined ? '' : `${index}-`}`;
  const mark = index === undefined ? {} : { [indexKey]: String(index) };
  const metadata = { generateName, labels: mark, annotations: mark, finalizers: [tracking] };
  const more = { metadata, ...(index !== undefined && { spec: indexedSpec(job, index) }) };
  return makePod(cluster, { by, resource, owner: job }, podFrom(job, owning, more));
}

/** Returns the first indexes that neither have a pod nor are done. */
export function pendingIndexes(
  job: Stored,
  pods: readonly Stored[],
  done: IndexRanges,
  count: number,
): readonly number[] {
  const taken = new Set(pods.filter(isActive).map(pod => indexOf(job, pod)));
  const free: number[] = [];
  const completions = completionsOf(job) ?? 0;
  for (
    let index = done.nextFree(0);
    index < completions && free.length < count;
    index = done.nextFree(index + 1)
  )
    if (!taken.has(index)) free.push(index);
  return free;
}

/**
 * Returns the surplus of active pods: duplicates of an index in any case, then the least useful
 * (activePodsForRemoval).
 */
export function surplusOf(
  job: Stored,
  active: readonly Stored[],
  atLeast: number,
  nowMs: number,
): readonly Stored[] {
  const seen = new Set<number>();
  const doubled = isIndexed(job)
    ? active.filter(pod => {
        const index = indexOf(job, pod);
        if (index === undefined || seen.has(index)) return true;
        seen.add(index);
        return false;
      })
    : [];
  const left = active.filter(pod => !doubled.includes(pod));
  return [
    ...doubled,
    ...deletionOrder(left, nowMs, []).slice(0, Math.max(0, atLeast - doubled.length)),
  ];
}

/** Removes the finalizer of a pod that need not be counted any more. */
export function release({ store, writes }: Cluster, pod: Stored): void {
  const { namespace = '', name, uid } = pod.metadata;
  const current = store.get('pods', namespace, name);
  if (current === undefined || current.metadata.uid !== uid || !isTracked(current)) return;
  const finalizers = (current.metadata.finalizers ?? []).filter(one => one !== tracking);
  writes.update('pods', { ...current, metadata: { ...current.metadata, finalizers } });
}

/** Returns the active deadline of the Job in seconds; undefined when it has none. */
export function activeDeadlineOf(job: Stored): number | undefined {
  const seconds = at(job, 'spec', 'activeDeadlineSeconds');
  return typeof seconds === 'number' ? seconds : undefined;
}

/**
 * Delay of a Job after failures before it creates new pods (backoff_utils.go): 10 s, doubled with
 * each, 10 min at most.
 */

const firstMs = 10_000;
const maxMs = 600_000;

export type Failures = { readonly count: number; readonly lastMs: number };

/** Returns the failures since the last success, after more pods have ended. */
export function afterEnds(
  before: Failures | undefined,
  succeeded: readonly Stored[],
  failed: readonly Stored[],
): Failures | undefined {
  if (succeeded.length === 0 && failed.length === 0) return before;
  const lastSuccess = Math.max(Number.NEGATIVE_INFINITY, ...succeeded.map(finishedMs));
  const later = failed.map(finishedMs).filter(end => end > lastSuccess);
  if (later.length === 0) return undefined;
  return {
    count: later.length + (succeeded.length === 0 ? (before?.count ?? 0) : 0),
    lastMs: Math.max(...later),
  };
}

/** Returns the remaining delay. */
export function waitMs(failures: Failures | undefined, nowMs: number): number {
  return failures === undefined
    ? 0
    : Math.max(0, Math.min(maxMs, firstMs * 2 ** (failures.count - 1)) - (nowMs - failures.lastMs));
}

/**
 * Deletes finished Jobs after their time to live
 * (k8s.io/kubernetes/pkg/controller/ttlafterfinished).
 */

function endedMs(job: Stored): number | undefined {
  const end = ['Complete', 'Failed']
    .map(type => conditionOf(conditionsOf(job), type))
    .find(one => one?.['status'] === 'True');
  return end === undefined ? undefined : Date.parse(text(end, 'lastTransitionTime'));
}

function reconcileTtl(key: string, cluster: Cluster): number | undefined {
  const job = cluster.store.get(resource, ...split(key));
  const seconds = at(job, 'spec', 'ttlSecondsAfterFinished');
  const end = job && endedMs(job);
  if (
    job === undefined ||
    job.metadata.deletionTimestamp !== undefined ||
    typeof seconds !== 'number' ||
    end === undefined
  )
    return undefined;
  const left = end + seconds * 1000 - cluster.nowMs();
  if (left > 0) return left;
  const { namespace = '', name, uid } = job.metadata;
  cluster.writes.remove(resource, namespace, name, { uid, propagationPolicy: 'Foreground' });
  return undefined;
}

export const ttlAfterFinished: Controller = {
  name: 'ttl-after-finished-controller',
  keysOf: ({ resource: changed, type, object }) =>
    changed === resource && type !== 'removed' ? [keyOf(object)] : [],
  reconcile: reconcileTtl,
};

/**
 * Pods of Jobs that are deleted or finished: their finalizer is removed (syncOrphanPod of
 * job_controller.go).
 */

function reconcileOrphan(key: string, cluster: Cluster): undefined {
  const pod = cluster.store.get('pods', ...split(key));
  if (pod === undefined || !isTracked(pod)) return;
  const owner = controllerOf(pod);
  const found =
    owner?.kind === 'Job'
      ? cluster.store.get(resource, pod.metadata.namespace ?? '', owner.name)
      : undefined;
  const job = found?.metadata.uid === owner?.uid ? found : undefined;
  if (job === undefined || isFinishedJob(job)) release(cluster, pod);
}

export const jobOrphans: Controller = {
  name: 'job-controller-orphans',
  keysOf: ({ resource: changed, type, object }, { store }) => {
    if (changed === 'pods') return type !== 'removed' && isTracked(object) ? [keyOf(object)] : [];
    if (changed !== resource || (type !== 'removed' && !isFinishedJob(object))) return [];
    return store.indexed('pods', 'owner', object.metadata.uid).filter(isTracked).map(keyOf);
  },
  reconcile: reconcileOrphan,
};
