import { type BlockerSummary, blockerId } from '../drain/blockers/blocker.ts';
import type { FilterContext } from '../drain/filters.ts';
import type { MaintenanceRequest } from '../request/request.ts';
import { vmPodsOf } from '../vm/vm-pod.ts';
import { countVms, hasGone, type VmCounts, type VmStatus } from '../vm/vm-status.ts';
import { type DrainInputs, decideDrainOnly, snapshotOf } from './decide.ts';
import type { NodeSnapshot } from './snapshot.ts';

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
  readonly startTime: string;
};

/**
 * Reads the blockers from the status. Only the operator knows the last responses to evictions; the
 * status may contain them.
 */
function storedBlockers(request: MaintenanceRequest): readonly BlockerSummary[] {
  const { blockers = [] } = request.status as { readonly blockers?: readonly Stored[] };
  return blockers.map(({ reason, pod, volume = '', server, message, remedy, startTime }) => {
    const what = pod ? `${pod.namespace}/${pod.name}` : (server?.name ?? volume);
    return { reason, what, message, since: startTime, ...(remedy !== undefined && { remedy }) };
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

/** A VM in the form in which a status stores it. */
export type StoredVm = Pick<
  VmStatus,
  'platform' | 'id' | 'name' | 'state' | 'message' | 'remedy' | 'target' | 'progress'
>;

/** VMs of a maintenance, as text for people. */
export type VmsNow = {
  /** Counts as text; zero counts are left out. */
  readonly summary: string;
  /** VMs that still have to move, shut down or be left alone. */
  readonly open: readonly StoredVm[];
};

type StoredVms = {
  readonly items?: readonly StoredVm[];
} & VmCounts;

const words = [
  ['moved', 'moved'],
  ['migrating', 'being migrated'],
  ['waiting', 'waiting'],
  ['cannot', 'that cannot move'],
  ['stopped', 'shut down'],
  ['left', 'left alone'],
] as const;

/** Returns the counts as text for people. */
function summaryOf(vms: StoredVms): string {
  const parts = words.flatMap(([field, text]) => (vms[field] > 0 ? [`${vms[field]} ${text}`] : []));
  return `${vms.total} VM${vms.total === 1 ? '' : 's'}: ${parts.join(', ')}`;
}

/**
 * Returns the VMs of a maintenance from its status; undefined if there are none, or its kind does
 * not store them.
 */
export function storedVms({
  status,
}: Pick<MaintenanceRequest, 'status'>):
  | { readonly summary: string; readonly items: readonly StoredVm[] }
  | undefined {
  const { virtualMachines: vms } = status as { readonly virtualMachines?: StoredVms };
  return vms && { summary: summaryOf(vms), items: vms.items ?? [] };
}

function counted(vms: readonly VmStatus[]): StoredVms {
  return { ...countVms(vms), items: vms };
}

/**
 * Returns the VMs of this request from its status or, for kinds that do not store them, as they are
 * now; undefined if there are none.
 */
export function vmsNow(
  request: MaintenanceRequest,
  drainInputs: DrainInputs,
  now: Temporal.Instant,
): VmsNow | undefined {
  const { virtualMachines } = request.status as { readonly virtualMachines?: StoredVms };
  const vms =
    virtualMachines ??
    counted(decideDrainOnly(snapshotOf(request, drainInputs), now).reports[0]?.vms ?? []);
  if (vms.total === 0) return undefined;
  return { summary: summaryOf(vms), open: (vms.items ?? []).filter(vm => !hasGone(vm)) };
}

/** Returns the facts beside a pod of this node that are needed to judge the pod. */
export function filterContextOf(
  {
    nodeName,
    pods = [],
    vms,
    daemonSets,
    planWork,
  }: Pick<NodeSnapshot, 'nodeName' | 'pods' | 'vms' | 'daemonSets' | 'planWork'>,
  now: Temporal.Instant,
): FilterContext {
  return { now, daemonSets, vmPods: vmPodsOf(nodeName, pods, vms), planWork };
}
