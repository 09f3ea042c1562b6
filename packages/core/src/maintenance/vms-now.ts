import type { MaintenanceRequest } from '../request/request.ts';
import { countVms, hasGone, type VmCounts, type VmStatus } from '../vm/vm-status.ts';
import { decideDrainOnly } from './decide.ts';
import { type DrainInputs, snapshotOf } from './drain-inputs.ts';

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
