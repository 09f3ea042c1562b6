import { at, type Stored, text } from '../../object.ts';
import { claim } from '../claims.ts';
import { conditionOf, conditionsOf, isTrue } from '../conditions.ts';
import type { Cluster } from '../controller.ts';
import { isActive, phaseOf } from '../pods.ts';
import { counted } from '../workload.ts';
import { afterEnds, type Failures } from './backoff.ts';
import {
  completionsOf,
  hasFailed,
  indexOf,
  isIndexed,
  isSuspended,
  isTracked,
  type JobCondition,
  succeededIndexes,
  tracking,
  uncountedOf,
} from './count.ts';
import type { IndexRanges } from './index-ranges.ts';
import { activeDeadlineOf, owning } from './pods.ts';

/** One Job in one sync; its counts include the pods that have ended since the last one. */
export type JobSync = {
  readonly cluster: Cluster;
  readonly job: Stored;
  readonly pods: readonly Stored[];
  readonly active: readonly Stored[];
  readonly succeeded: number;
  readonly failed: number;
  readonly done: IndexRanges;
  readonly failures: Failures | undefined;
};

export function jobSyncOf(cluster: Cluster, job: Stored, known: Failures | undefined): JobSync {
  const pods = claim(cluster, job, { resource: 'pods', owning, finalizer: tracking });
  const uncounted = uncountedOf(job);
  const countable = pods.filter(
    pod => isTracked(pod) && (!isIndexed(job) || indexOf(job, pod) !== undefined),
  );
  const succeeded = countable.filter(
    pod => phaseOf(pod) === 'Succeeded' && !uncounted.succeeded.includes(pod.metadata.uid),
  );
  const failed = countable.filter(
    pod => hasFailed(job, pod) && !uncounted.failed.includes(pod.metadata.uid),
  );
  const done = succeededIndexes(job).with(
    isIndexed(job) ? succeeded.flatMap(pod => indexOf(job, pod) ?? []) : [],
  );
  return {
    cluster,
    job,
    pods,
    active: pods.filter(isActive),
    succeeded: isIndexed(job)
      ? done.size
      : counted(job, 'succeeded') + succeeded.length + uncounted.succeeded.length,
    failed: counted(job, 'failed') + failed.length + uncounted.failed.length,
    done,
    failures: afterEnds(known, succeeded, failed),
  };
}

function isPastDeadline({ job, cluster }: JobSync): boolean {
  const [seconds, since] = [activeDeadlineOf(job), Date.parse(text(job, 'status', 'startTime'))];
  return seconds !== undefined && !isSuspended(job) && cluster.nowMs() - since >= seconds * 1000;
}

/** Condition for enough successful pods. */
export const reached = {
  type: 'SuccessCriteriaMet',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
};

/** Returns why the Job is over, before its last pods are gone. */
export function verdictOf(sync: JobSync): JobCondition | undefined {
  const conditions = conditionsOf(sync.job);
  const before = ['SuccessCriteriaMet', 'FailureTarget'].find(type => isTrue(conditions, type));
  if (before !== undefined) {
    const said = conditionOf(conditions, before);
    return { type: before, reason: text(said, 'reason'), message: text(said, 'message') };
  }
  if (sync.failed > Number(at(sync.job, 'spec', 'backoffLimit') ?? 6))
    return {
      type: 'FailureTarget',
      reason: 'BackoffLimitExceeded',
      message: 'Job has reached the specified backoff limit',
    };
  if (isPastDeadline(sync))
    return {
      type: 'FailureTarget',
      reason: 'DeadlineExceeded',
      message: 'Job was active longer than specified deadline',
    };
  return undefined;
}

/** Returns the wanted number of active pods. */
export function wantedNow({ job, succeeded, active }: JobSync): number {
  const parallelism = Number(at(job, 'spec', 'parallelism') ?? 1);
  const completions = completionsOf(job);
  if (isSuspended(job)) return 0;
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
}
