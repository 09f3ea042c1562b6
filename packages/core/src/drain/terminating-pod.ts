import { earliest, isBefore, secondsAfter } from '@drydock/apimachinery';
import type { Pod } from '../pod/pod.ts';
import { terminatingBlockerInfo } from './blockers/blocker.ts';
import { lastingBlocker } from './last-answer.ts';
import { type Attempt, type EvictionMethod, isSameCall, retryAt } from './outcome/retry.ts';
import type { PodDecision, PodWait } from './pod-decision.ts';

/** Seconds past its grace period after which a terminating pod counts as stuck. */
const overdueAfter = 30;

function waitForEnd(pod: Pod, now: Temporal.Instant): PodWait {
  const end = secondsAfter(pod.deletionTimestamp ?? now, overdueAfter);
  const overdue = !isBefore(now, end);
  return {
    verdict: 'wait',
    blockerInfo: terminatingBlockerInfo(pod, overdue),
    ...(!overdue && { requeueAt: end }),
  };
}

/** A pod, and how the drain wants it to leave. */
type Wanted = {
  readonly pod: Pod;
  readonly method: Exclude<EvictionMethod, 'request'>;
  readonly gracePeriodSeconds?: number;
};

/** Facts beside the pod. */
type Known = {
  /** True if its eviction is in flight, and the response is still to come. */
  readonly isAsked: boolean;
  /**
   * Wait for a responder of the pod's own, if it has its turn: the responder decides how long the
   * pod has.
   */
  readonly responding: PodWait | undefined;
  readonly attempt: Attempt | undefined;
  readonly now: Temporal.Instant;
};

/**
 * Returns the grace period in seconds, if it is shorter than the pod's current one. The API server
 * only ever shortens a grace period.
 */
function shorterGrace({ pod, method, gracePeriodSeconds }: Wanted): number | undefined {
  const wanted = gracePeriodSeconds ?? (method === 'delete' ? pod.graceSeconds : undefined);
  return wanted !== undefined && wanted < pod.deletionGraceSeconds ? wanted : undefined;
}

/**
 * Decides on a terminating pod, whichever client deleted it: it is evicted again where its grace
 * period may be shortened.
 */
export function considerTerminating(
  wanted: Wanted,
  { isAsked, responding, attempt, now }: Known,
): PodDecision {
  const { pod, method } = wanted;
  const waiting = waitForEnd(pod, now);
  const gracePeriodSeconds = shorterGrace(wanted);
  if (gracePeriodSeconds === undefined || isAsked) return waiting;
  const turnEnds = earliest([waiting.requeueAt, responding?.requeueAt]);
  if (responding !== undefined) return { ...waiting, ...(turnEnds && { requeueAt: turnEnds }) };
  if (attempt === undefined || !isSameCall(attempt, { method, gracePeriodSeconds }))
    return { verdict: 'call', gracePeriodSeconds };
  const requeueAt = retryAt(attempt, pod.uid);
  if (!isBefore(now, requeueAt)) return { verdict: 'call', gracePeriodSeconds };
  const refused =
    attempt.outcome.kind === 'accepted' ? undefined : lastingBlocker(pod, attempt, now);
  const next = earliest([requeueAt, waiting.requeueAt]);
  return { ...waiting, ...(next && { requeueAt: next }), ...(refused && { blockerInfo: refused }) };
}
