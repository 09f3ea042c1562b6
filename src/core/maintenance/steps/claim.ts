import { claimAnnotation, hasFinalizer, pathOf, type Request } from '../../request/request.ts';
import type { Write } from '../decision.ts';
import { announcement, type Step } from '../reconcile-context.ts';

const isClaimed = (request: Request): boolean =>
  request.claim !== 'none' && (hasFinalizer(request) || request.dialect.finalizer === undefined);

/**
 * Finalizer and mark in one write. An object that has the finalizer already comes from the operator before us, and has begun; so may any
 * object of a kind without a finalizer: what the node carries decides then.
 */
const claimOf = (request: Request): Write => {
  const { finalizer } = request.dialect;
  const takenOver = finalizer === undefined || hasFinalizer(request);
  const finalizers = takenOver ? request.finalizers : [...request.finalizers, finalizer];
  return {
    what: takenOver ? 'take over' : 'claim',
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
    store: 'requests',
    dialect: request.dialect.name,
    announce: takenOver ? [] : [announcement(request, 'Normal', request.dialect.events.begun)],
  };
};

/**
 * Nothing is done for a request before its finalizer is stored: from then on it cannot vanish without the node being given back. A request
 * that is not claimed yet has no say; it does not hold up the others.
 */
export const claim: Step = course => {
  const unclaimed = course.standings.filter(({ request }) => !isClaimed(request));
  return {
    done: true,
    course: {
      ...course,
      standings: course.standings.filter(({ request }) => isClaimed(request)),
      writes: [...course.writes, ...unclaimed.map(({ request }) => claimOf(request))],
    },
  };
};
