import { labelOf } from '@drydock/apimachinery';
import type { BlockerInfo } from '../drain/blockers/blocker.ts';
import type { Problem } from '../request/report.ts';
import { hasFinalizer, type MaintenanceRequest } from '../request/request.ts';
import type { NodeSnapshot } from './snapshot.ts';

/**
 * A node is not released while the work of a plan runs on it: the pod that reboots it may end any
 * moment, together with every pod that has come to the node since. The plan ends its work within
 * its own time limit; a Maintenance that is deleted earlier waits for that.
 */

/**
 * Annotation on the Maintenance of a plan. With the value "true" its node is released at once,
 * although the work of the plan runs on it.
 */
export const releaseDuringWorkAnnotation = 'drydock.dev/release-during-work';

/**
 * Reports whether a deleted Maintenance has to wait for the work of its plan. Plans that are not
 * known yet count as working.
 */
export function waitsForWork(
  request: MaintenanceRequest,
  { node, planWork }: Pick<NodeSnapshot, 'node' | 'planWork'>,
): boolean {
  const { deleting, plan, releasesDuringWork } = request;
  if (
    !deleting ||
    plan === undefined ||
    releasesDuringWork ||
    planWork === undefined ||
    !hasFinalizer(request)
  )
    return false;
  return (
    node?.holdRecord !== undefined &&
    (planWork.plans === undefined || planWork.plans.has(labelOf(plan)))
  );
}

function remedyFor({ name }: MaintenanceRequest): string {
  return `to release it at once: kubectl annotate maintenances.drydock.dev ${name} ${releaseDuringWorkAnnotation}=true`;
}

/** Returns the problem that the status of such a Maintenance reports. */
export function workProblem(request: MaintenanceRequest): Problem {
  return {
    reason: 'WorkOfPlan',
    message: `deleted, and released when the work of MaintenancePlan ${request.plan ?? ''} on the node has ended; ${remedyFor(request)}`,
  };
}

/** Returns the blocker that keeps its node. */
export function workBlocker(request: MaintenanceRequest): BlockerInfo {
  return {
    reason: 'WorkOfPlan',
    message: `MaintenancePlan ${request.plan ?? ''} works on the node: it ends within the time limit of its work`,
    remedy: remedyFor(request),
  };
}
