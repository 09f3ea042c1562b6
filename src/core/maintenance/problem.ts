import { type JsonObject, mergePatch } from '../json.ts';
import { type MaintenanceRequest, statusPathOf } from '../request/request.ts';
import type { Write } from './decision.ts';
import type { Problem, Report } from './report.ts';

/** Nothing can be said of the maintenance but why it does not go on: what has been said before stays. */
const reportOf = ({ history }: MaintenanceRequest, problem: Problem): Report => ({
  state: history.state ?? 'Pending',
  held: history.state !== undefined && history.state !== 'Pending' && history.state !== 'Announced',
  leaseErrors: history.leaseErrors,
  waiting: [],
  blockers: [],
  problem,
  ...(history.failure !== undefined && { failure: history.failure }),
  ...(history.drainStartedAt && { drainStartedAt: history.drainStartedAt }),
  ...(history.drainedAt && { drainedAt: history.drainedAt }),
});

/** The write that makes the status of a maintenance say something else, if nobody has written to it meanwhile. */
export const statusPatch = (request: MaintenanceRequest, what: string, patch: JsonObject): Write => ({
  what: `report ${what}`,
  method: 'PATCH',
  style: 'merge',
  path: statusPathOf(request),
  body: { metadata: { resourceVersion: request.resourceVersion }, status: patch },
  store: 'requests',
  adapter: request.adapter.name,
  reportOf: request.key,
  announce: [],
});

/** The writes that tell what keeps these maintenances from being worked on at all, where nothing else is decided about them. A kind that throws at that as well is left out. */
export const problemWrites = (requests: readonly MaintenanceRequest[], problem: Problem, now: Temporal.Instant): readonly Write[] =>
  requests.flatMap(request => {
    try {
      const patch = mergePatch(request.status, request.adapter.status(reportOf(request, problem), request, now));
      if (patch === undefined) return [];
      return [statusPatch(request, problem.reason, patch)];
    } catch {
      return [];
    }
  });
