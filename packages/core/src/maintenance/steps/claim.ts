import {
  claimAnnotation,
  hasFinalizer,
  type MaintenanceRequest,
  pathOf,
} from '../../request/request.ts';
import type { Write } from '../../write.ts';
import { kubeEventFor, type ReconcileStep } from '../reconcile-context.ts';

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
