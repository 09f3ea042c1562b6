import { blockerId } from '../drain/blockers/blocker.ts';
import type { BlockerSummary } from '../drain/blockers/blocker-groups.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import { decideDrainOnly } from './decide.ts';
import { type DrainInputs, snapshotOf } from './drain-inputs.ts';

/**
 * Returns since when the blocker exists, as the status stores it; undefined for kinds that store
 * none.
 */
function storedSince(request: MaintenanceRequest, id: string): string | undefined {
  return request.history.blockedSince.get(id)?.toString({ smallestUnit: 'second' });
}

/** A blocker in the form in which a status stores it. */
type Stored = {
  readonly reason: string;
  readonly pod?: { readonly namespace: string; readonly name: string };
  readonly volume?: string;
  readonly server?: { readonly name: string };
  readonly message: string;
  readonly remedy?: string;
  readonly since: string;
};

/**
 * Reads the blockers from the status. Only the operator knows the last responses to evictions; the
 * status may contain them.
 */
function storedBlockers(request: MaintenanceRequest): readonly BlockerSummary[] {
  const { blockers = [] } = request.status as { readonly blockers?: readonly Stored[] };
  return blockers.map(({ reason, pod, volume = '', server, message, remedy, since }) => {
    const what = pod ? `${pod.namespace}/${pod.name}` : (server?.name ?? volume);
    return { reason, what, message, since, ...(remedy !== undefined && { remedy }) };
  });
}

/** Judges the pods and budgets as they are now, without any request to the API server. */
function judgedBlockers(
  request: MaintenanceRequest,
  drainInputs: DrainInputs,
  now: Temporal.Instant,
): readonly BlockerSummary[] {
  const [report] = decideDrainOnly(snapshotOf(request, drainInputs), now).reports;
  return (report?.blockers ?? []).map(blocker => {
    const { pod, message, remedy, reason } = blocker;
    const since = storedSince(request, blockerId(blocker));
    const what = pod ? `${pod.namespace}/${pod.name}` : '';
    return {
      reason,
      what,
      message,
      ...(remedy !== undefined && { remedy }),
      ...(since !== undefined && { since }),
    };
  });
}

/**
 * Reports whether the status names all blockers that the operator knows of. The status does not
 * name them all if its kind stores no blockers or if its list was cut.
 */
export function namesAllBlockers({ adapter, history }: MaintenanceRequest): boolean {
  return (
    adapter.namesBlockers === true &&
    history.state !== undefined &&
    (history.blockerCount ?? 0) <= history.blockedSince.size
  );
}

/**
 * Returns the blockers that keep this request's drain from completing. Blockers in the status come
 * first, because they contain the API server's responses. For pods that the status does not name
 * (too many, or a kind that stores no blockers), the same judgement as the operator's is made from
 * here.
 */
export function blockersNow(
  request: MaintenanceRequest,
  drainInputs: DrainInputs,
  now: Temporal.Instant,
): readonly BlockerSummary[] {
  const stored = storedBlockers(request);
  if (stored.length > 0 && namesAllBlockers(request)) return stored;
  const named = new Set(stored.map(({ what }) => what));
  return [
    ...stored,
    ...judgedBlockers(request, drainInputs, now).filter(({ what }) => !named.has(what)),
  ];
}
