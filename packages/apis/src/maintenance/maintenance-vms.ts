import { readTime, timeText } from '@drydock/apimachinery';
import { nothingTracked, type VmTrackingState } from '@drydock/core/drain';
import type { Report } from '@drydock/core/request';
import { countVms, type VmState, type VmStatus } from '@drydock/core/vm';
import type { MaintenanceStatus } from '../schema/maintenance.ts';

/** VMs in the status of a Maintenance. */

type Stored = NonNullable<MaintenanceStatus['virtualMachines']>;
type Item = NonNullable<Stored['items']>[number];

/** Number of VMs that are stored; the counts of all are stored beside them. */
const maxItems = 20;

/** Order of the states that is useful to readers. */
const order: readonly VmState[] = ['Cannot', 'Migrating', 'Waiting', 'Left', 'Stopped', 'Moved'];

function byNeed(one: VmStatus, other: VmStatus): number {
  return order.indexOf(one.state) - order.indexOf(other.state) || (one.name < other.name ? -1 : 1);
}

function item({ since, progress, ...vm }: VmStatus): Item {
  return {
    ...vm,
    ...(progress !== undefined && { progress: Math.round(progress) }),
    ...(since && { startTime: timeText(since) }),
  };
}

/** Returns the part of the status about VMs; undefined if there are none. */
export function vmsStatus({ vms, vmsBefore = nothingTracked.before }: Report): Stored | undefined {
  if (vms === undefined) return undefined;
  return {
    ...countVms(vms, vmsBefore),
    ...(vms.length > 0 && { items: vms.toSorted(byNeed).slice(0, maxItems).map(item) }),
  };
}

/** Reads the VMs of KubeVirt from the stored status; OpenStack's are found in its own records. */
export function readVms({ items = [], moved, stopped }: Stored): VmTrackingState {
  const own = items
    .filter(({ platform }) => platform === 'KubeVirt')
    .map(({ startTime, ...vm }): VmStatus => {
      const since = readTime(startTime);
      return { ...vm, ...(since && { since }) } as VmStatus;
    });
  const known = (state: VmState): number => items.filter(vm => vm.state === state).length;
  return {
    vms: new Map(own.map(vm => [vm.id, vm] as const)),
    before: {
      moved: Math.max(0, moved - known('Moved')),
      stopped: Math.max(0, stopped - known('Stopped')),
    },
  };
}
