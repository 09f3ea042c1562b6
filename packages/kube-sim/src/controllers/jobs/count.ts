import type { JsonObject } from '@drydock/apimachinery';
import { durationMs } from '../../duration.ts';
import { at, items, objects, type Stored, text } from '../../object.ts';
import { conditionOf, conditionsOf, isTrue, withoutCondition } from '../conditions.ts';
import { timeText } from '../controller.ts';
import { isDeleting, phaseOf } from '../pods.ts';
import { IndexRanges } from './index-ranges.ts';

/** Counts of a Job (job_controller.go, indexed_job_utils.go), pure. */

/** Finalizer of a pod until it is counted. */
export const tracking = 'batch.kubernetes.io/job-tracking';
export const indexKey = 'batch.kubernetes.io/job-completion-index';

export const isTracked = ({ metadata }: Stored): boolean => metadata.finalizers?.includes(tracking) === true;

export const isSuspended = (job: Stored): boolean => at(job, 'spec', 'suspend') === true;

export const isIndexed = (job: Stored): boolean => at(job, 'spec', 'completionMode') === 'Indexed';

export const completionsOf = (job: Stored): number | undefined => {
  const completions = at(job, 'spec', 'completions');
  return typeof completions === 'number' ? completions : undefined;
};

export const isFinishedJob = (job: Stored): boolean => isTrue(conditionsOf(job), 'Complete') || isTrue(conditionsOf(job), 'Failed');

/**
 * Returns whether pods are replaced only when they have ended, rather than when they start
 * terminating.
 */
export const replacesOnlyFailed = (job: Stored): boolean => at(job, 'spec', 'podReplacementPolicy') === 'Failed';

/**
 * Returns whether a pod has failed, including one that was deleted before it finished
 * (isPodFailed).
 */
export const hasFailed = (job: Stored, pod: Stored): boolean =>
  phaseOf(pod) === 'Failed' || (!replacesOnlyFailed(job) && isDeleting(pod) && phaseOf(pod) !== 'Succeeded');

export type Uncounted = { readonly succeeded: readonly string[]; readonly failed: readonly string[] };

/** Returns the ended pods in the status by their UIDs, until their finalizers are removed. */
export const uncountedOf = (job: Stored): Uncounted => {
  const of = (field: string): readonly string[] => items(at(job, 'status', 'uncountedTerminatedPods', field)).map(String);
  return { succeeded: of('succeeded'), failed: of('failed') };
};

/** Returns the completion index of a pod; undefined when it has no valid one. */
export const indexOf = (job: Stored, { metadata }: Stored): number | undefined => {
  const given = metadata.annotations?.[indexKey] ?? '';
  return /^\d+$/.test(given) && Number(given) < (completionsOf(job) ?? 0) ? Number(given) : undefined;
};

export const succeededIndexes = (job: Stored): IndexRanges => IndexRanges.read(text(job, 'status', 'completedIndexes'));

export type JobCondition = { readonly type: string; readonly reason: string; readonly message: string };

const conditionFor = ({ type, reason, message }: JobCondition, status: string, now: string): JsonObject => ({
  type,
  status,
  lastProbeTime: now,
  lastTransitionTime: now,
  reason,
  message,
});

/** Adds a condition, or replaces the one of its type (ensureJobConditionStatus). */
export const withCondition = (
  conditions: readonly JsonObject[],
  said: JobCondition,
  nowMs: number,
  status = 'True',
): readonly JsonObject[] => {
  const before = conditionOf(conditions, said.type);
  if (before === undefined && status === 'False') return conditions;
  if (before?.['status'] === status && before['reason'] === said.reason && before['message'] === said.message) return conditions;
  return [...withoutCondition(conditions, said.type), conditionFor(said, status, timeText(nowMs))];
};

/** Returns the time at which the pod ended, as far as known (getFinishedTime). */
export const finishedMs = (pod: Stored): number => {
  const ends = objects(at(pod, 'status', 'containerStatuses')).map(one => Date.parse(text(one, 'state', 'terminated', 'finishedAt')));
  if (ends.length > 0 && ends.every(end => !Number.isNaN(end))) return Math.max(...ends);
  const ready = conditionOf(conditionsOf(pod), 'Ready');
  if (ready?.['status'] === 'False') return Date.parse(text(ready, 'lastTransitionTime'));
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = pod.metadata;
  return deletionTimestamp === undefined
    ? Date.parse(creationTimestamp)
    : Date.parse(deletionTimestamp) - durationMs(deletionGracePeriodSeconds);
};
