import type { JsonObject } from '@drydock/apimachinery';
import { at, part, type Stored, text, without } from '../../object.ts';
import {
  type Cluster,
  type Controller,
  isActive,
  isDeleting,
  isFinished,
  isReady,
  keyOf,
  phaseOf,
  split,
  timeText,
} from '../controller.ts';
import { conditionOf, conditionsOf, isTrue } from '../namespaces.ts';
import { claim } from '../selectors.ts';
import { concerned, counted, deletePod, report } from '../workload.ts';
import {
  completionsOf,
  hasFailed,
  type IndexRanges,
  indexOf,
  isFinishedJob,
  isIndexed,
  isSuspended,
  isTracked,
  type JobCondition,
  replacesOnlyFailed,
  succeededIndexes,
  tracking,
  uncountedOf,
  withCondition,
} from './count.ts';
import {
  activeDeadlineOf,
  afterEnds,
  by,
  type Failures,
  makeJobPod,
  owning,
  pendingIndexes,
  release,
  resource,
  surplusOf,
  waitMs,
} from './pods.ts';

/** One Job in one sync; its counts include the pods that have ended since the last one. */
type JobSync = {
  readonly cluster: Cluster;
  readonly job: Stored;
  readonly pods: readonly Stored[];
  readonly active: readonly Stored[];
  readonly succeeded: number;
  readonly failed: number;
  readonly done: IndexRanges;
  readonly failures: Failures | undefined;
};

function jobSyncOf(cluster: Cluster, job: Stored, known: Failures | undefined): JobSync {
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
const reached = {
  type: 'SuccessCriteriaMet',
  reason: 'CompletionsReached',
  message: 'Reached expected number of succeeded pods',
};

/** Returns why the Job is over, before its last pods are gone. */
function verdictOf(sync: JobSync): JobCondition | undefined {
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
function wantedNow({ job, succeeded, active }: JobSync): number {
  const parallelism = Number(at(job, 'spec', 'parallelism') ?? 1);
  const completions = completionsOf(job);
  if (isSuspended(job)) return 0;
  if (completions === undefined) return succeeded > 0 ? active.length : parallelism;
  return Math.max(0, Math.min(parallelism, completions - succeeded));
}

/**
 * Jobs (k8s.io/kubernetes/pkg/controller/job): a number of successes, a parallelism, a limit of
 * failures.
 */

const burst = 500;
const retryMs = 1000;

type Managed = {
  readonly active: number;
  readonly removed: readonly Stored[];
  readonly againMs?: number;
};

function isGoing(pod: Stored): boolean {
  return isDeleting(pod) && !isFinished(pod);
}

function makeMissing(sync: JobSync, missing: number): Managed {
  const { cluster, job, pods, active, done } = sync;
  const againMs = waitMs(sync.failures, cluster.nowMs());
  if (againMs > 0) return { active: active.length, removed: [], againMs };
  const count = Math.min(missing, burst);
  const slots = isIndexed(job)
    ? pendingIndexes(job, pods, done, count)
    : Array.from({ length: count }, () => undefined);
  let made = 0;
  for (const index of slots) {
    if (makeJobPod(cluster, job, index) !== undefined)
      return { active: active.length + made, removed: [], againMs: retryMs };
    made += 1;
  }
  return { active: active.length + made, removed: [] };
}

/** Creates missing pods, deletes surplus ones (manageJob). */
function manage(sync: JobSync): Managed {
  const { cluster, job, pods, active } = sync;
  const wanted = wantedNow(sync);
  const surplus = surplusOf(
    job,
    active,
    Math.max(0, active.length - wanted),
    cluster.nowMs(),
  ).slice(0, burst);
  for (const pod of surplus) {
    // Not counted: the pod itself did not fail.
    release(cluster, pod);
    deletePod(cluster, { by, resource, owner: job }, pod);
  }
  if (surplus.length > 0) return { active: active.length - surplus.length, removed: surplus };
  const going = replacesOnlyFailed(job) ? pods.filter(isGoing).length : 0;
  const missing = wanted - going - active.length;
  return missing > 0 ? makeMissing(sync, missing) : { active: active.length, removed: [] };
}

function removeAll({ cluster, job, active }: JobSync): Managed {
  for (const pod of active) deletePod(cluster, { by, resource, owner: job }, pod);
  return { active: 0, removed: active };
}

function say(
  { cluster, job }: JobSync,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): void {
  cluster.record({ by, about: { resource, object: job }, type, reason, message });
}

/** Returns the condition for suspension; the start time is reset when the Job resumes. */
function pauseOf(sync: JobSync, status: JsonObject): JsonObject {
  const { job, cluster } = sync;
  const before = conditionsOf(job);
  const suspended = isSuspended(job);
  const said = suspended
    ? { type: 'Suspended', reason: 'JobSuspended', message: 'Job suspended' }
    : { type: 'Suspended', reason: 'JobResumed', message: 'Job resumed' };
  const conditions = withCondition(before, said, cluster.nowMs(), suspended ? 'True' : 'False');
  if (conditions === before) return status;
  say(sync, 'Normal', suspended ? 'Suspended' : 'Resumed', said.message);
  return without({
    ...status,
    conditions: [...conditions],
    startTime: suspended ? undefined : timeText(cluster.nowMs()),
  });
}

function isComplete({ job, succeeded }: JobSync, active: number): boolean {
  const completions = completionsOf(job);
  return active === 0 && (completions === undefined ? succeeded > 0 : succeeded >= completions);
}

/** Returns the pods whose finalizer can be removed, and those that must be counted first. */
function endsOf(
  { job, pods }: JobSync,
  verdict: JobCondition | undefined,
): { readonly all: readonly Stored[]; readonly status: JsonObject } {
  const { succeeded, failed } = uncountedOf(job);
  const all = pods.filter(
    pod =>
      isTracked(pod) &&
      (isDeleting(job) ||
        verdict !== undefined ||
        phaseOf(pod) === 'Succeeded' ||
        hasFailed(job, pod)),
  );
  const fails = (pod: Stored): boolean =>
    hasFailed(job, pod) || (verdict !== undefined && verdict.type !== 'SuccessCriteriaMet');
  const isValid = (pod: Stored): boolean => !isIndexed(job) || indexOf(job, pod) !== undefined;
  const uids = (found: readonly Stored[]): readonly string[] =>
    found.map(({ metadata }) => metadata.uid);
  const won = isIndexed(job) ? [] : all.filter(pod => phaseOf(pod) === 'Succeeded');
  const lost = all.filter(pod => phaseOf(pod) !== 'Succeeded' && fails(pod) && isValid(pod));
  const list = {
    succeeded: [...new Set([...succeeded, ...uids(won)])],
    failed: [...new Set([...failed, ...uids(lost)])],
  };
  return {
    all,
    status: Object.fromEntries(Object.entries(list).filter(([, found]) => found.length > 0)),
  };
}

function write(cluster: Cluster, job: Stored, status: JsonObject): Stored {
  const written = report(cluster, resource, job, without(status));
  return written?.kind === 'stored' ? written.object : job;
}

/**
 * Writes the status with the ended pods, removes the finalizers, and then updates the counts, so
 * that a crash in between counts nothing twice.
 */
function track(sync: JobSync, verdict: JobCondition | undefined, status: JsonObject): Stored {
  const { cluster, job, done } = sync;
  const ends = endsOf(sync, verdict);
  const indexes = isIndexed(job) && {
    succeeded: done.size || undefined,
    completedIndexes: done.toString() || undefined,
  };
  const conditions =
    verdict === undefined
      ? conditionsOf({ ...job, status })
      : withCondition(conditionsOf({ ...job, status }), verdict, cluster.nowMs());
  const first = write(cluster, job, {
    ...status,
    ...indexes,
    uncountedTerminatedPods: ends.status,
    ...(conditions.length > 0 && { conditions: [...conditions] }),
  });
  for (const pod of ends.all) release(cluster, pod);
  const listed = uncountedOf(first);
  const succeeded = counted(first, 'succeeded') + listed.succeeded.length;
  const failed = counted(first, 'failed') + listed.failed.length;
  return write(cluster, first, {
    ...part(first, 'status'),
    succeeded: succeeded || undefined,
    failed: failed || undefined,
    uncountedTerminatedPods: {},
  });
}

/** Writes the final condition after the last pods are gone (enactJobFinished). */
function conclude(sync: JobSync, job: Stored, verdict: JobCondition): void {
  const type = verdict.type === 'SuccessCriteriaMet' ? 'Complete' : 'Failed';
  const { cluster } = sync;
  const conditions = withCondition(conditionsOf(job), { ...verdict, type }, cluster.nowMs());
  const end = type === 'Complete' && {
    completionTime: conditionOf(conditions, type)?.['lastTransitionTime'],
  };
  write(cluster, job, { ...part(job, 'status'), conditions: [...conditions], ...end });
  if (type === 'Complete') say(sync, 'Normal', 'Completed', 'Job completed');
  else say(sync, 'Warning', verdict.reason, verdict.message);
}

function advance(sync: JobSync): number | undefined {
  const { cluster, job, pods, active } = sync;
  const over = verdictOf(sync);
  const managed =
    over === undefined
      ? isDeleting(job)
        ? { active: active.length, removed: [] }
        : manage(sync)
      : removeAll(sync);
  const verdict = over ?? (isComplete(sync, managed.active) ? reached : undefined);
  const terminating = pods.filter(isGoing).length + managed.removed.length;
  const status = {
    ...part(job, 'status'),
    startTime:
      at(job, 'status', 'startTime') ?? (isSuspended(job) ? undefined : timeText(cluster.nowMs())),
    active: managed.active || undefined,
    ready: active.filter(isReady).length - managed.removed.filter(isReady).length,
    terminating,
  };
  const tracked = track(
    sync,
    verdict,
    verdict === undefined && !isDeleting(job) ? pauseOf(sync, without(status)) : without(status),
  );
  if (verdict !== undefined && terminating === 0) conclude(sync, tracked, verdict);
  return managed.againMs ?? deadlineLeft(sync, tracked);
}

function deadlineLeft({ job, cluster }: JobSync, now: Stored): number | undefined {
  const [seconds, since] = [activeDeadlineOf(job), Date.parse(text(now, 'status', 'startTime'))];
  if (seconds === undefined || Number.isNaN(since)) return undefined;
  return Math.max(0, since + seconds * 1000 - cluster.nowMs()) || undefined;
}

/** Returns the controller; it remembers the last failures of each Job. */
export function jobController(): Controller {
  const known = new Map<string, Failures>();
  const keys = concerned(resource, 'Job', 'pods');
  return {
    name: by,
    keysOf: (change, cluster) => {
      if (change.resource === resource && change.type === 'removed')
        known.delete(keyOf(change.object));
      return keys(change, cluster);
    },
    reconcile: (key, cluster) => {
      const job = cluster.store.get(resource, ...split(key));
      if (job === undefined || isFinishedJob(job)) {
        known.delete(key);
        return undefined;
      }
      const sync = jobSyncOf(cluster, job, known.get(key));
      if (sync.failures === undefined) known.delete(key);
      else known.set(key, sync.failures);
      return advance(sync);
    },
  };
}
