import { blockerId } from '../drain/blockers/blocker.ts';
import type { BlockerSummary } from '../drain/blockers/blocker-groups.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import { decideDrainOnly } from './decide.ts';
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

/** The drain's judgement of the pods and budgets as they are now, with nothing asked of the API server. */
const judgedBlockers = (request: MaintenanceRequest, drainInputs: DrainInputs, now: Temporal.Instant): readonly BlockerSummary[] => {
  const [report] = decideDrainOnly(snapshotOf(request, drainInputs), now).reports;
  return (report?.blockers ?? []).map(blocker => {
    const { pod, message, remedy, cause } = blocker;
    const since = storedSince(request, blockerId(blocker));
    const what = pod ? `${pod.namespace}/${pod.name}` : '';
    return { cause, what, message, ...(remedy !== undefined && { remedy }), ...(since !== undefined && { since }) };
  });
};

/** The status names all blockers that the operator knows of. A kind that stores none, and a list that was cut, say nothing of the others. */
export const namesAllBlockers = ({ adapter, history }: MaintenanceRequest): boolean =>
  adapter.namesBlockers === true && history.state !== undefined && (history.blockerCount ?? 0) <= history.blockedSince.size;

/**
 * What keeps this request's drain from being complete: what its status says, which has the API server's answers; and, of pods that it does not name because there are
 * too many, or because the kind stores no blockers, what the same judgement finds from here.
 */
export const blockersNow = (request: MaintenanceRequest, drainInputs: DrainInputs, now: Temporal.Instant): readonly BlockerSummary[] => {
  const stored = storedBlockers(request);
  if (stored.length > 0 && namesAllBlockers(request)) return stored;
  const named = new Set(stored.map(({ what }) => what));
  return [...stored, ...judgedBlockers(request, drainInputs, now).filter(({ what }) => !named.has(what))];
};
