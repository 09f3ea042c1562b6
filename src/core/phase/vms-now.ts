import type { Request } from '../request/request.ts';
import type { VmStanding } from '../vm/standing.ts';
import { evacuate } from './decide.ts';
import { type Glance, pictureOf } from './glance.ts';

/** A VM as the kinds that store them do. */
type Stored = Pick<VmStanding, 'name' | 'state' | 'message' | 'remedy' | 'target' | 'progress'>;

/** VMs of a maintenance, as text for people. */
export type VmsNow = {
  /** In numbers; what there is none of is left out. */
  readonly summary: string;
  /** Those that are not where they should be yet. */
  readonly open: readonly Stored[];
};

type StoredVms = {
  readonly items?: readonly Stored[];
} & Readonly<Record<'total' | 'waiting' | 'migrating' | 'moved' | 'stopped' | 'cannot' | 'left', number>>;

const words = [
  ['moved', 'moved'],
  ['migrating', 'being migrated'],
  ['waiting', 'waiting'],
  ['cannot', 'that cannot move'],
  ['stopped', 'shut down'],
  ['left', 'left alone'],
] as const;

const isOpen = ({ state }: Stored): boolean => state === 'Waiting' || state === 'Migrating' || state === 'Cannot';

const counted = (vms: readonly VmStanding[]): StoredVms => {
  const count = (state: VmStanding['state']): number => vms.filter(vm => vm.state === state).length;
  return {
    total: vms.length,
    waiting: count('Waiting'),
    migrating: count('Migrating'),
    moved: count('Moved'),
    stopped: count('Stopped'),
    cannot: count('Cannot'),
    left: count('Left'),
    items: vms,
  };
};

/**
 * How the VMs of this request stand: as its status says, or, for kinds that do not store them, as they are now. Undefined where there are
 * none.
 */
export const vmsNow = (request: Request, glance: Glance, now: Temporal.Instant): VmsNow | undefined => {
  const { virtualMachines } = request.status as { readonly virtualMachines?: StoredVms };
  const vms = virtualMachines ?? counted(evacuate(pictureOf(request, glance), now).reports[0]?.vms ?? []);
  if (vms.total === 0) return undefined;
  const parts = words.flatMap(([field, text]) => (vms[field] > 0 ? [`${vms[field]} ${text}`] : []));
  return { summary: `${vms.total} VM${vms.total === 1 ? '' : 's'}: ${parts.join(', ')}`, open: (vms.items ?? []).filter(isOpen) };
};
