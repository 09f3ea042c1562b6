import { isBefore, timeText } from '@drydock/apimachinery';
import { isDaemonSetPod, type Pod } from '../../pod/pod.ts';
import { about } from '../blockers/blocker.ts';
import type { Attempt } from '../outcome/eviction-outcome.ts';
import type { PodDecision } from '../pod-decision.ts';
import {
  type ActiveResponder,
  answerDue,
  type EvictionRequest,
  type EvictionRequestsKnown,
  evictionRequestKey,
  withdrawnUntil,
} from './eviction-request.ts';

/** A pod that has to leave, and how. */
type Candidate = {
  readonly pod: Pod;
  readonly method: 'evict' | 'delete';
  readonly gracePeriodSeconds?: number;
};

/** Facts beside the pods, by their uids. */
type RequestContext = {
  readonly evictionRequests?: EvictionRequestsKnown;
  readonly responders?: ReadonlyMap<string, ActiveResponder>;
  readonly attempts: ReadonlyMap<string, Attempt>;
  readonly vmPods: ReadonlyMap<string, unknown>;
  readonly now: Temporal.Instant;
};

/**
 * Reports whether the eviction may be requested. A request carries no grace period and no deadline
 * of ours, and a pod that does not run has nothing to move. DaemonSet pods and VMs are handled
 * elsewhere.
 */
function mayBeRequested(
  { pod, method, gracePeriodSeconds }: Candidate,
  { vmPods }: RequestContext,
): boolean {
  return (
    pod.hasResponders === true &&
    method === 'evict' &&
    gracePeriodSeconds === undefined &&
    pod.phase === 'Running' &&
    !pod.mirror &&
    !isDaemonSetPod(pod) &&
    !vmPods.has(pod.uid)
  );
}

function waits(pod: Pod, requeueAt: Temporal.Instant): PodDecision {
  return {
    verdict: 'wait',
    requeueAt,
    blockerInfo: {
      reason: 'EvictionRequested',
      pod: about(pod),
      message: `its eviction has been requested of its responders; if none has its turn by ${timeText(requeueAt)}, it is evicted`,
    },
  };
}

/**
 * Returns until when a response to the pod's request is waited for; undefined if there is no
 * request, or it is over.
 */
function waitsUntil(
  { pod }: Candidate,
  { attempts }: RequestContext,
  request: EvictionRequest | undefined,
): Temporal.Instant | undefined {
  if (request !== undefined) return request.isOver ? undefined : answerDue(request);
  const attempt = attempts.get(pod.uid);
  return attempt?.method === 'request' && attempt.outcome.kind === 'accepted'
    ? answerDue({ createdAt: attempt.at })
    : undefined;
}

/**
 * Requests the eviction from the responders of a pod that names some, and waits until one has its
 * turn. Undefined: the pod is evicted by pods/eviction, because it names none, because it is the
 * default responder's turn, or because the request had, or will have, no effect. A refused request
 * is not repeated.
 */
export function askResponders(
  candidate: Candidate,
  context: RequestContext,
): PodDecision | undefined {
  const { evictionRequests: known, responders, attempts, now } = context;
  const { uid } = candidate.pod;
  if (
    known?.mode !== 'Auto' ||
    !mayBeRequested(candidate, context) ||
    responders?.get(uid)?.isDefault === true
  )
    return undefined;
  const request = known.own.get(evictionRequestKey(candidate.pod));
  if (request?.withdrawnAt !== undefined)
    return waits(candidate.pod, withdrawnUntil(request) ?? now);
  if (request === undefined && !attempts.has(uid))
    return known.areAnswered && known.node
      ? { verdict: 'call', requestFor: known.node }
      : undefined;
  const until = waitsUntil(candidate, context, request);
  return until !== undefined &&
    isBefore(now, until) &&
    (known.areAnswered || request?.isObserved === true)
    ? waits(candidate.pod, until)
    : undefined;
}
