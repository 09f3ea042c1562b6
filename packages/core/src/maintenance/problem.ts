import { isObject, type JsonObject, statusChange } from '@drydock/apimachinery';
import type { Problem, Report } from '../request/report.ts';
import { type MaintenanceRequest, statusPathOf } from '../request/request.ts';
import type { Write } from '../write.ts';

/**
 * Returns the text for a collection that the decision needs and that this user has no permission to
 * read.
 */
export function notAllowedText(collection: string): string {
  return `Drydock may not read ${collection}, without which nothing is decided here, and leaves all as it is until it may: drydock check says which right it lacks`;
}

/** Returns the status of the condition NodeHeld; undefined if there is no such condition. */
function saidHeld({ conditions }: JsonObject): boolean | undefined {
  const condition = Array.isArray(conditions)
    ? conditions.find(one => isObject(one) && one['type'] === 'NodeHeld')
    : undefined;
  return isObject(condition) ? condition['status'] === 'True' : undefined;
}

/**
 * Builds a report with only the reason why the maintenance does not go on; the rest stays as last
 * reported.
 */
function reportOf({ history, status }: MaintenanceRequest, problem: Problem): Report {
  return {
    state: history.state ?? 'Pending',
    held:
      saidHeld(status) ??
      (history.state !== undefined && history.state !== 'Pending' && history.state !== 'Announced'),
    leaseErrors: history.leaseErrors,
    waiting: [],
    blockers: [],
    problem,
    ...(history.failure !== undefined && { failure: history.failure }),
    ...(history.drainStartedAt && { drainStartedAt: history.drainStartedAt }),
    ...(history.drainedAt && { drainedAt: history.drainedAt }),
  };
}

/**
 * Returns the write that changes the status of a maintenance, provided that the object has not
 * changed meanwhile.
 */
export function statusPatch(request: MaintenanceRequest, what: string, patch: JsonObject): Write {
  return {
    description: `report ${what}`,
    method: 'PATCH',
    style: 'merge',
    path: statusPathOf(request),
    body: { metadata: { resourceVersion: request.resourceVersion }, status: patch },
    cache: 'requests',
    adapter: request.adapter.name,
    reportOf: request.key,
    events: [],
  };
}

/**
 * Returns the write that reports why a maintenance is not worked on at all, where nothing else is
 * decided about it; undefined if the status reports it already.
 */
export function problemWrite(
  request: MaintenanceRequest,
  problem: Problem,
  now: Temporal.Instant,
): Write | undefined {
  const patch = statusChange(
    request.status,
    request.adapter.status(reportOf(request, problem), request, now),
  );
  return patch && statusPatch(request, problem.reason, patch);
}
