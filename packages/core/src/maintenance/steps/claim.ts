import { isBefore, type JsonObject, type KubeEvent, timeText } from '@drydock/apimachinery';
import {
  type EvictionRequest,
  evictionRequestPath,
  isUnanswered,
  withdrawal,
  withdrawnUntil,
} from '../../drain/responders/eviction-request.ts';
import {
  claimAnnotation,
  hasFinalizer,
  type MaintenanceRequest,
  pathOf,
} from '../../request/request.ts';
import type { Write } from '../../write.ts';
import {
  kubeEventFor,
  nodeSubject,
  type ReconcileContext,
  type ReconcileStep,
} from '../reconcile-context.ts';

/** Clean-up of our EvictionRequests: no other controller deletes them. */

function deletion(
  { uid, ...request }: EvictionRequest,
  announce: readonly KubeEvent[] = [],
): Write {
  return {
    description:
      announce.length > 0
        ? 'delete an EvictionRequest that no controller has answered'
        : 'delete an EvictionRequest',
    method: 'DELETE',
    path: evictionRequestPath(request),
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
    cache: 'evictionRequests',
    events: announce,
  };
}

function withdrawn(request: EvictionRequest, now: Temporal.Instant): Write {
  return {
    description: 'withdraw an EvictionRequest',
    method: 'PATCH',
    style: 'merge',
    path: evictionRequestPath(request),
    body: withdrawal(request, now) as JsonObject,
    cache: 'evictionRequests',
    events: [],
  };
}

/**
 * Returns the event for a request without a response. It is sent once: the next requests are not
 * created.
 */
function unanswered(
  { snapshot: { node } }: ReconcileContext,
  { key, createdAt }: EvictionRequest,
): readonly KubeEvent[] {
  return node === undefined
    ? []
    : [
        {
          type: 'Warning',
          reason: 'EvictionRequestUnanswered',
          message: `No controller has answered the EvictionRequest ${key} of ${timeText(createdAt)}: pods that name responders are evicted without them, for an hour`,
          component: 'drydock',
          about: nodeSubject(node),
        },
      ];
}

type Action = 'keep' | 'delete' | 'withdraw';

/**
 * Returns the action for a request whose pod may stay, or that no drain requests any more. A
 * responder is notified while it has its turn: it sees a withdrawal, while a deletion would show
 * only that the request is gone.
 */
function idleAction(request: EvictionRequest, { snapshot, now }: ReconcileContext): Action {
  const responder = snapshot.responders?.get(request.podUid);
  if (request.isOver || responder === undefined || responder.isDefault) return 'delete';
  const until = withdrawnUntil(request);
  if (until === undefined) return 'withdraw';
  return isBefore(now, until) ? 'keep' : 'delete';
}

function actionFor(request: EvictionRequest, context: ReconcileContext): Action {
  const { snapshot, evictable, now } = context;
  if (snapshot.pods?.some(({ uid }) => uid === request.podUid) === false) return 'delete';
  const isWanted =
    snapshot.evictionRequests?.mode === 'Auto' &&
    evictable.has(request.podUid) &&
    request.withdrawnAt === undefined;
  if (!isWanted) return idleAction(request, context);
  return isUnanswered(request, now) ? 'delete' : 'keep';
}

/**
 * Reports whether idle requests cannot be known: as long as a request wants the node drained, the
 * drain has to be judged first.
 */
function isUnclear({ snapshot, isDrainJudged }: ReconcileContext): boolean {
  return (
    !isDrainJudged &&
    snapshot.requests.some(({ deleting, level }) => !deleting && level === 'Drain')
  );
}

/**
 * Returns the writes that withdraw and delete our remaining requests, and whether they show that no
 * controller responds.
 */
export function cleanUpEvictionRequests(context: ReconcileContext): {
  readonly context: ReconcileContext;
  readonly requestUnanswered: boolean;
} {
  const { snapshot, now } = context;
  const { evictionRequests: known } = snapshot;
  if (known === undefined || known.own.size === 0 || isUnclear(context))
    return { context, requestUnanswered: false };
  const own = [...known.own.values()];
  const isNews = (request: EvictionRequest): boolean =>
    known.areAnswered && isUnanswered(request, now);
  const first = own.find(isNews);
  const writes = own.flatMap(request => {
    const action = actionFor(request, context);
    if (action === 'keep') return [];
    return [
      action === 'withdraw'
        ? withdrawn(request, now)
        : deletion(request, request === first ? unanswered(context, request) : []),
    ];
  });
  const moments = own
    .flatMap(request => withdrawnUntil(request) ?? [])
    .filter(until => isBefore(now, until));
  return {
    context: {
      ...context,
      writes: [...context.writes, ...writes],
      moments: [...context.moments, ...moments],
    },
    requestUnanswered: first !== undefined,
  };
}

/** Reports whether the request is claimed. Nothing is done for it before. */
export function isClaimed(request: MaintenanceRequest): boolean {
  return (
    request.claim !== 'none' && (hasFinalizer(request) || request.adapter.finalizer === undefined)
  );
}

/**
 * Returns the write that sets finalizer and mark at once. An object that already has the finalizer
 * comes from the previous operator, and has begun; so may any object of a kind without a finalizer:
 * the marks on the node decide then.
 */
function claimOf(request: MaintenanceRequest): Write {
  const { finalizer } = request.adapter;
  const takenOver = finalizer === undefined || hasFinalizer(request);
  const finalizers = takenOver ? request.finalizers : [...request.finalizers, finalizer];
  return {
    description: takenOver ? 'take over' : 'claim',
    method: 'PATCH',
    style: 'merge',
    path: pathOf(request),
    body: {
      metadata: {
        resourceVersion: request.resourceVersion,
        annotations: { [claimAnnotation]: takenOver ? 'taken-over' : 'ours' },
        ...(finalizer !== undefined && { finalizers: [...finalizers] }),
      },
    },
    cache: 'requests',
    adapter: request.adapter.name,
    events: takenOver ? [] : [kubeEventFor(request, 'Normal', request.adapter.events.begun)],
  };
}

/**
 * Claims requests. Nothing is done for a request before its finalizer is stored: from then on it
 * cannot vanish without a release of the node. A request that is not claimed yet takes no part in
 * the pass and does not hold up the others.
 */
export const claim: ReconcileStep = context => {
  const unclaimed = context.progresses.filter(({ request }) => !isClaimed(request));
  return {
    done: true,
    context: {
      ...context,
      progresses: context.progresses.filter(({ request }) => isClaimed(request)),
      writes: [...context.writes, ...unclaimed.map(({ request }) => claimOf(request))],
    },
  };
};
