import { isObject, type JsonObject } from '../json.ts';
import { type MaintenanceRequest, statusPathOf } from '../request/request.ts';
import { statusChange } from '../status.ts';
import type { Write } from '../write.ts';
import type { Problem, Report } from './report.ts';

/** Of a collection that has a say and that this user may not read. */
export const notAllowedText = (collection: string): string =>
  `Drydock may not read ${collection}, without which nothing is decided here, and leaves all as it is until it may: drydock check says which right it lacks`;

/** What the condition NodeHeld says; undefined where there is none. */
const saidHeld = ({ conditions }: JsonObject): boolean | undefined => {
  const condition = Array.isArray(conditions) ? conditions.find(one => isObject(one) && one['type'] === 'NodeHeld') : undefined;
  return isObject(condition) ? condition['status'] === 'True' : undefined;
};

/** Nothing can be said of the maintenance but why it does not go on: what has been said before stays. */
const reportOf = ({ history, status }: MaintenanceRequest, problem: Problem): Report => ({
  state: history.state ?? 'Pending',
  held: saidHeld(status) ?? (history.state !== undefined && history.state !== 'Pending' && history.state !== 'Announced'),
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
  description: `report ${what}`,
  method: 'PATCH',
  style: 'merge',
  path: statusPathOf(request),
  body: { metadata: { resourceVersion: request.resourceVersion }, status: patch },
  cache: 'requests',
  adapter: request.adapter.name,
  reportOf: request.key,
  events: [],
});

/** The write that tells what keeps a maintenance from being worked on at all, where nothing else is decided about it; undefined where that is told already. */
export const problemWrite = (request: MaintenanceRequest, problem: Problem, now: Temporal.Instant): Write | undefined => {
  const patch = statusChange(request.status, request.adapter.status(reportOf(request, problem), request, now));
  return patch && statusPatch(request, problem.reason, patch);
};
