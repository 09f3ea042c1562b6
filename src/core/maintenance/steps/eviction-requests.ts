import {
  type EvictionRequest,
  evictionRequestPath,
  isUnanswered,
  withdrawal,
  withdrawnUntil,
} from '../../drain/responders/eviction-request.ts';
import type { JsonObject } from '../../json.ts';
import { isBefore, timeText } from '../../time.ts';
import type { KubeEvent, Write } from '../../write.ts';
import { nodeSubject, type ReconcileContext } from '../reconcile-context.ts';

/** What becomes of our EvictionRequests: nobody else cleans them up. */

const deletion = ({ uid, ...request }: EvictionRequest, announce: readonly KubeEvent[] = []): Write => ({
  description: announce.length > 0 ? 'delete an EvictionRequest that no controller has answered' : 'delete an EvictionRequest',
  method: 'DELETE',
  path: evictionRequestPath(request),
  body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  cache: 'evictionRequests',
  events: announce,
});

const withdrawn = (request: EvictionRequest, now: Temporal.Instant): Write => ({
  description: 'withdraw an EvictionRequest',
  method: 'PATCH',
  style: 'merge',
  path: evictionRequestPath(request),
  body: withdrawal(request, now) as JsonObject,
  cache: 'evictionRequests',
  events: [],
});

/** Said once: the next requests are not made. */
const unanswered = ({ snapshot: { node } }: ReconcileContext, { key, createdAt }: EvictionRequest): readonly KubeEvent[] =>
  node === undefined
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

type Action = 'keep' | 'delete' | 'withdraw';

/** Of a request for a pod that may stay, or that nobody requests any more. A responder is told as long as it has its turn: it hears a withdrawal, and of a deletion only that. */
const idleAction = (request: EvictionRequest, { snapshot, now }: ReconcileContext): Action => {
  const responder = snapshot.responders?.get(request.podUid);
  if (request.isOver || responder === undefined || responder.isDefault) return 'delete';
  const until = withdrawnUntil(request);
  if (until === undefined) return 'withdraw';
  return isBefore(now, until) ? 'keep' : 'delete';
};

const actionFor = (request: EvictionRequest, context: ReconcileContext): Action => {
  const { snapshot, evictable, now } = context;
  if (snapshot.pods?.some(({ uid }) => uid === request.podUid) === false) return 'delete';
  const isWanted = snapshot.evictionRequests?.mode === 'Auto' && evictable.has(request.podUid) && request.withdrawnAt === undefined;
  if (!isWanted) return idleAction(request, context);
  return isUnanswered(request, now) ? 'delete' : 'keep';
};

/** As long as somebody wants the node drained, nothing is known to be idle before the drain has been looked at. */
const isUnclear = ({ snapshot, isDrainJudged }: ReconcileContext): boolean =>
  !isDrainJudged && snapshot.requests.some(({ deleting, stage }) => !deleting && stage === 'Drain');

/** The writes that withdraw and delete what is left of our requests, and whether they show that nobody answers. */
export const cleanUpEvictionRequests = (
  context: ReconcileContext,
): { readonly context: ReconcileContext; readonly requestUnanswered: boolean } => {
  const { snapshot, now } = context;
  const { evictionRequests: known } = snapshot;
  if (known === undefined || known.own.size === 0 || isUnclear(context)) return { context, requestUnanswered: false };
  const own = [...known.own.values()];
  const isNews = (request: EvictionRequest): boolean => known.areAnswered && isUnanswered(request, now);
  const first = own.find(isNews);
  const writes = own.flatMap(request => {
    const action = actionFor(request, context);
    if (action === 'keep') return [];
    return [action === 'withdraw' ? withdrawn(request, now) : deletion(request, request === first ? unanswered(context, request) : [])];
  });
  const moments = own.flatMap(request => withdrawnUntil(request) ?? []).filter(until => isBefore(now, until));
  return {
    context: { ...context, writes: [...context.writes, ...writes], moments: [...context.moments, ...moments] },
    requestUnanswered: first !== undefined,
  };
};
