import type { JsonObject } from '../../core/json.ts';
import { at, objects, type Stored } from '../object.ts';
import { type Cluster, type Controller, keyOf, split, timeText } from './controller.ts';
import { isActive, isDeleting, isReady, phaseOf } from './pods.ts';
import { ownerKeys, podFrom, podsOf, report } from './workload.ts';

/** Jobs (k8s.io/kubernetes/pkg/controller/job): so many successes, so many at a time, so many failures and no more. */

const resource = 'jobs.batch';
const owning = { apiVersion: 'batch/v1', kind: 'Job' };

const ended = (job: Stored): boolean =>
  objects(at(job, 'status', 'conditions')).some(({ type, status }) => (type === 'Complete' || type === 'Failed') && status === 'True');

type Count = { readonly active: readonly Stored[]; readonly succeeded: number; readonly failed: number };

/** A pod that is deleted before it has ended counts as failed when it is gone; the store keeps what has been counted in the status. */
const countOf = (job: Stored, pods: readonly Stored[]): Count => {
  const done = (phase: string): number => pods.filter(pod => phaseOf(pod) === phase).length;
  const counted = (field: string): number => Number(at(job, 'status', field) ?? 0);
  return {
    active: pods.filter(isActive),
    succeeded: Math.max(counted('succeeded'), done('Succeeded')),
    failed: Math.max(counted('failed'), done('Failed')),
  };
};

const completionsOf = (job: Stored): number | undefined => {
  const completions = at(job, 'spec', 'completions');
  return typeof completions === 'number' ? completions : undefined;
};

const wantedNow = (job: Stored, { succeeded }: Count): number => {
  const parallelism = Number(at(job, 'spec', 'parallelism') ?? 1);
  const completions = completionsOf(job);
  if (at(job, 'spec', 'suspend') === true) return 0;
  if (completions === undefined) return succeeded > 0 ? 0 : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
};

const conditionsOf = (job: Stored, count: Count, nowMs: number): readonly JsonObject[] => {
  const before = objects(at(job, 'status', 'conditions'));
  const now = timeText(nowMs);
  const add = (type: string, reason: string, message: string): JsonObject => ({
    type,
    status: 'True',
    reason,
    message,
    lastProbeTime: now,
    lastTransitionTime: now,
  });
  const completions = completionsOf(job) ?? (count.succeeded > 0 && count.active.length === 0 ? count.succeeded : Number.POSITIVE_INFINITY);
  if (count.succeeded >= completions) {
    const reached = 'Reached expected number of succeeded pods';
    return [...before, add('SuccessCriteriaMet', 'CompletionsReached', reached), add('Complete', 'CompletionsReached', reached)];
  }
  if (count.failed > Number(at(job, 'spec', 'backoffLimit') ?? 6)) {
    const exceeded = 'Job has reached the specified backoff limit';
    return [...before, add('FailureTarget', 'BackoffLimitExceeded', exceeded), add('Failed', 'BackoffLimitExceeded', exceeded)];
  }
  return before;
};

const statusOf = (job: Stored, pods: readonly Stored[], nowMs: number): JsonObject => {
  const count = countOf(job, pods);
  const conditions = ended(job) ? objects(at(job, 'status', 'conditions')) : conditionsOf(job, count, nowMs);
  const complete = conditions.some(({ type }) => type === 'Complete');
  return {
    startTime: at(job, 'status', 'startTime') ?? timeText(nowMs),
    active: count.active.length || undefined,
    ready: count.active.filter(isReady).length,
    terminating: pods.filter(pod => isDeleting(pod) && phaseOf(pod) !== 'Succeeded' && phaseOf(pod) !== 'Failed').length,
    succeeded: count.succeeded || undefined,
    failed: count.failed || undefined,
    uncountedTerminatedPods: {},
    ...(conditions.length > 0 && { conditions: [...conditions] }),
    ...(complete && { completionTime: at(job, 'status', 'completionTime') ?? timeText(nowMs) }),
  };
};

const manage = (cluster: Cluster, job: Stored, pods: readonly Stored[]): void => {
  const count = countOf(job, pods);
  const missing = wantedNow(job, count) - count.active.length;
  for (let made = 0; made < missing; made += 1) {
    const labels = {
      'batch.kubernetes.io/job-name': job.metadata.name,
      'job-name': job.metadata.name,
      'batch.kubernetes.io/controller-uid': job.metadata.uid,
    };
    const written = cluster.writes.create('pods', podFrom(job, owning, { metadata: { generateName: `${job.metadata.name}-`, labels } }));
    const about = { resource, object: job };
    if (written.kind === 'refused') return cluster.record(about, 'Warning', 'FailedCreate', `Error creating: ${written.message}`);
    cluster.record(about, 'Normal', 'SuccessfulCreate', `Created pod: ${written.object.metadata.name}`);
  }
  for (const { metadata } of count.active.slice(0, Math.max(0, -missing))) {
    cluster.writes.remove('pods', metadata.namespace ?? '', metadata.name, { uid: metadata.uid });
  }
};

const reconcile = (key: string, cluster: Cluster): number | undefined => {
  const [namespace, name] = split(key);
  const job = cluster.store.get(resource, namespace, name);
  if (job === undefined || job.metadata.deletionTimestamp !== undefined || ended(job)) return undefined;
  report(cluster, resource, job, statusOf(job, podsOf(cluster, job), cluster.nowMs()));
  const counted = cluster.store.get(resource, namespace, name);
  if (counted === undefined || ended(counted)) return undefined;
  manage(cluster, counted, podsOf(cluster, counted));
  const now = cluster.store.get(resource, namespace, name) ?? counted;
  report(cluster, resource, now, statusOf(now, podsOf(cluster, now), cluster.nowMs()));
  return undefined;
};

export const jobController: Controller = {
  name: 'job-controller',
  keysOf: (change, cluster) => {
    if (change.resource === resource) return change.type === 'removed' ? [] : [keyOf(change.object)];
    return change.resource === 'pods' ? ownerKeys(cluster, resource, 'Job', change.object) : [];
  },
  reconcile,
};
