import type { Pod } from '../pod/pod.ts';
import { earliest, isBefore, secondsAfter } from '../time.ts';
import { terminatingBlockerInfo } from './blockers/blocker.ts';
import { lastingBlocker } from './last-answer.ts';
import { type Attempt, type EvictionMethod, isSameCall, retryAt } from './outcome/retry.ts';
import type { PodDecision, PodWait } from './pod-decision.ts';

/** Seconds past its grace period after which a terminating pod counts as stuck. */
const overdueAfter = 30;

const waitForEnd = (pod: Pod, now: Temporal.Instant): PodWait => {
  const end = secondsAfter(pod.deletionTimestamp ?? now, overdueAfter);
  const overdue = !isBefore(now, end);
  return { verdict: 'wait', blockerInfo: terminatingBlockerInfo(pod, overdue), ...(!overdue && { requeueAt: end }) };
};

/** How the drain would have the pod go. */
type Wanted = { readonly pod: Pod; readonly method: Exclude<EvictionMethod, 'request'>; readonly gracePeriodSeconds?: number };

/** What is known beside it. */
type Known = {
  /** It has been asked for, and the answer is still to come. */
  readonly isAsked: boolean;
  /** A responder of the pod's own has its turn: how long the pod has is its business. */
  readonly responding: PodWait | undefined;
  readonly attempt: Attempt | undefined;
  readonly now: Temporal.Instant;
};

/** Seconds to end, where they are fewer than the pod has been given. The API server makes a grace period only shorter. */
const shorterGrace = ({ pod, method, gracePeriodSeconds }: Wanted): number | undefined => {
  const wanted = gracePeriodSeconds ?? (method === 'delete' ? pod.graceSeconds : undefined);
  return wanted !== undefined && wanted < pod.deletionGraceSeconds ? wanted : undefined;
};

/** A pod that is going, whoever has asked it to, is asked once more where it may be given less time than it has. */
export const considerTerminating = (wanted: Wanted, { isAsked, responding, attempt, now }: Known): PodDecision => {
  const { pod, method } = wanted;
  const waiting = waitForEnd(pod, now);
  const gracePeriodSeconds = shorterGrace(wanted);
  if (gracePeriodSeconds === undefined || isAsked) return waiting;
  const turnEnds = earliest([waiting.requeueAt, responding?.requeueAt]);
  if (responding !== undefined) return { ...waiting, ...(turnEnds && { requeueAt: turnEnds }) };
  if (attempt === undefined || !isSameCall(attempt, { method, gracePeriodSeconds })) return { verdict: 'call', gracePeriodSeconds };
  const requeueAt = retryAt(attempt, pod.uid);
  if (!isBefore(now, requeueAt)) return { verdict: 'call', gracePeriodSeconds };
  const refused = attempt.outcome.kind === 'accepted' ? undefined : lastingBlocker(pod, attempt, now);
  const next = earliest([requeueAt, waiting.requeueAt]);
  return { ...waiting, ...(next && { requeueAt: next }), ...(refused && { blockerInfo: refused }) };
};
