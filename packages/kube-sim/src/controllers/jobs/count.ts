import type { JsonObject } from '@drydock/apimachinery';
import { at, durationMs, items, objects, type Stored, text } from '../../object.ts';
import { isDeleting, phaseOf, timeText } from '../controller.ts';
import { conditionOf, conditionsOf, isTrue, withoutCondition } from '../namespaces.ts';

type Range = readonly [first: number, last: number];

/** Sorts ranges, and merges those that touch or overlap. */
function merged(ranges: readonly Range[]): readonly Range[] {
  const found: [number, number][] = [];
  for (const [first, last] of ranges.toSorted(([one], [other]) => one - other)) {
    const before = found.at(-1);
    if (before !== undefined && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else found.push([first, last]);
  }
  return found;
}

function isRange([first, last]: Range): boolean {
  return Number.isInteger(first) && Number.isInteger(last) && first >= 0 && last >= first;
}

/** Indexes in a Job's status, `0-2,4`: as ranges, because there may be two thousand million. */
export class IndexRanges {
  readonly #ranges: readonly Range[];

  private constructor(ranges: readonly Range[]) {
    this.#ranges = merged(ranges);
  }

  /** Parses a text; ignores parts that are not ranges. */
  static read(text: string): IndexRanges {
    const ranges = text.split(',').map((range): Range => {
      const [first = Number.NaN, last = first] = range
        .split('-')
        .map(one => (/^\d+$/.test(one) ? Number(one) : Number.NaN));
      return [first, last];
    });
    return new IndexRanges(ranges.filter(isRange));
  }

  with(indexes: readonly number[]): IndexRanges {
    return new IndexRanges([...this.#ranges, ...indexes.map((index): Range => [index, index])]);
  }

  get size(): number {
    return this.#ranges.reduce((sum, [first, last]) => sum + last - first + 1, 0);
  }

  /** Returns the first index from this one on that is not included. */
  nextFree(from: number): number {
    const inside = this.#ranges.find(([first, last]) => from >= first && from <= last);
    return inside === undefined ? from : inside[1] + 1;
  }

  /** Formats the ranges as in the status; two in a row are listed, not a range. */
  toString(): string {
    return this.#ranges
      .map(([first, last]) =>
        first === last ? `${first}` : last === first + 1 ? `${first},${last}` : `${first}-${last}`,
      )
      .join(',');
  }
}

/** Counts of a Job (job_controller.go, indexed_job_utils.go), pure. */

/** Finalizer of a pod until it is counted. */
export const tracking = 'batch.kubernetes.io/job-tracking';
export const indexKey = 'batch.kubernetes.io/job-completion-index';

export function isTracked({ metadata }: Stored): boolean {
  return metadata.finalizers?.includes(tracking) === true;
}

export function isSuspended(job: Stored): boolean {
  return at(job, 'spec', 'suspend') === true;
}

export function isIndexed(job: Stored): boolean {
  return at(job, 'spec', 'completionMode') === 'Indexed';
}

export function completionsOf(job: Stored): number | undefined {
  const completions = at(job, 'spec', 'completions');
  return typeof completions === 'number' ? completions : undefined;
}

export function isFinishedJob(job: Stored): boolean {
  return isTrue(conditionsOf(job), 'Complete') || isTrue(conditionsOf(job), 'Failed');
}

/**
 * Returns whether pods are replaced only when they have ended, rather than when they start
 * terminating.
 */
export function replacesOnlyFailed(job: Stored): boolean {
  return at(job, 'spec', 'podReplacementPolicy') === 'Failed';
}

/**
 * Returns whether a pod has failed, including one that was deleted before it finished
 * (isPodFailed).
 */
export function hasFailed(job: Stored, pod: Stored): boolean {
  return (
    phaseOf(pod) === 'Failed' ||
    (!replacesOnlyFailed(job) && isDeleting(pod) && phaseOf(pod) !== 'Succeeded')
  );
}

export type Uncounted = {
  readonly succeeded: readonly string[];
  readonly failed: readonly string[];
};

/** Returns the ended pods in the status by their UIDs, until their finalizers are removed. */
export function uncountedOf(job: Stored): Uncounted {
  const of = (field: string): readonly string[] =>
    items(at(job, 'status', 'uncountedTerminatedPods', field)).map(String);
  return { succeeded: of('succeeded'), failed: of('failed') };
}

/** Returns the completion index of a pod; undefined when it has no valid one. */
export function indexOf(job: Stored, { metadata }: Stored): number | undefined {
  const given = metadata.annotations?.[indexKey] ?? '';
  return /^\d+$/.test(given) && Number(given) < (completionsOf(job) ?? 0)
    ? Number(given)
    : undefined;
}

export function succeededIndexes(job: Stored): IndexRanges {
  return IndexRanges.read(text(job, 'status', 'completedIndexes'));
}

export type JobCondition = {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
};

function conditionFor(
  { type, reason, message }: JobCondition,
  status: string,
  now: string,
): JsonObject {
  return {
    type,
    status,
    lastProbeTime: now,
    lastTransitionTime: now,
    reason,
    message,
  };
}

/** Adds a condition, or replaces the one of its type (ensureJobConditionStatus). */
export function withCondition(
  conditions: readonly JsonObject[],
  said: JobCondition,
  nowMs: number,
  status = 'True',
): readonly JsonObject[] {
  const before = conditionOf(conditions, said.type);
  if (before === undefined && status === 'False') return conditions;
  if (
    before?.['status'] === status &&
    before['reason'] === said.reason &&
    before['message'] === said.message
  )
    return conditions;
  return [...withoutCondition(conditions, said.type), conditionFor(said, status, timeText(nowMs))];
}

/** Returns the time at which the pod ended, as far as known (getFinishedTime). */
export function finishedMs(pod: Stored): number {
  const ends = objects(at(pod, 'status', 'containerStatuses')).map(one =>
    Date.parse(text(one, 'state', 'terminated', 'finishedAt')),
  );
  if (ends.length > 0 && ends.every(end => !Number.isNaN(end))) return Math.max(...ends);
  const ready = conditionOf(conditionsOf(pod), 'Ready');
  if (ready?.['status'] === 'False') return Date.parse(text(ready, 'lastTransitionTime'));
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, creationTimestamp } = pod.metadata;
  return deletionTimestamp === undefined
    ? Date.parse(creationTimestamp)
    : Date.parse(deletionTimestamp) - durationMs(deletionGracePeriodSeconds);
}
