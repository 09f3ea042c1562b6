import { blockerId } from '../drain/blockers/blocker.ts';
import type { BlockerSummary } from '../drain/blockers/blocker-groups.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import { evacuate } from './decide.ts';
import { type DrainInputs, snapshotOf } from './drain-inputs.ts';

/** Since when, as the operator has stored it, where the kind stores it. */
const storedSince = (request: MaintenanceRequest, id: string): string | undefined =>
  request.history.blockedSince.get(id)?.toString({ smallestUnit: 'second' });

/** A blocker as the kinds that store them do. */
type Stored = {
  readonly cause: string;
  readonly pod?: { readonly namespace: string; readonly name: string };
  readonly volume?: string;
  readonly server?: { readonly name: string };
  readonly message: string;
  readonly remedy?: string;
  readonly since: string;
};

/** What the server's last answers were is known to the operator alone; the status of the object may have them. */
const storedBlockers = (request: MaintenanceRequest): readonly BlockerSummary[] => {
  const { blockers = [] } = request.status as { readonly blockers?: readonly Stored[] };
  return blockers.map(({ cause, pod, volume = '', server, message, remedy, since }) => {
    const what = pod ? `${pod.namespace}/${pod.name}` : (server?.name ?? volume);
    return { cause, what, message, since, ...(remedy !== undefined && { remedy }) };
  });
};

/**
 * What keeps this request's drain from being complete: what its status says, or, for kinds that store no blockers, the operator's own
 * judgement of the pods and budgets as they are now.
 */
export const blockersNow = (request: MaintenanceRequest, drainInputs: DrainInputs, now: Temporal.Instant): readonly BlockerSummary[] => {
  const stored = storedBlockers(request);
  if (stored.length > 0) return stored;
  const [report] = evacuate(snapshotOf(request, drainInputs), now).reports;
  return (report?.blockers ?? []).map(({ cause, pod, message, remedy, ...rest }) => {
    const since = storedSince(request, blockerId({ cause, message, ...rest, ...(pod && { pod }) }));
    const what = pod ? `${pod.namespace}/${pod.name}` : '';
    return { cause, what, message, ...(remedy !== undefined && { remedy }), ...(since !== undefined && { since }) };
  });
};
