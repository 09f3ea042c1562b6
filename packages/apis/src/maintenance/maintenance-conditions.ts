import { joinLimited, readTime, timeText } from '@drydock/apimachinery';
import {
  type Blocker,
  fewOfEachReason,
  needsHelp,
  nothingTracked,
  type VmTrackingState,
} from '@drydock/core/drain';
import { type Report, withContest, withStay } from '@drydock/core/request';
import { countVms, type VmState, type VmStatus } from '@drydock/core/vm';
import { type Condition, type NewCondition, withTransitions } from '../read.ts';
import type { MaintenanceStatus } from '../schema/maintenance.ts';

function held(report: Report): NewCondition {
  const { problem } = report;
  if (report.held)
    return {
      type: 'NodeHeld',
      status: 'True',
      reason: problem?.reason ?? 'Held',
      message:
        problem?.message ?? withContest('The node carries the marks of the maintenance', report),
    };
  const reason = problem?.reason ?? (report.state === 'Announced' ? 'Announced' : 'NotYetHeld');
  return {
    type: 'NodeHeld',
    status: 'False',
    reason,
    message: problem?.message ?? 'The node is not held',
  };
}

function blockedText({ pod, volume, message }: Blocker): string {
  return `${pod ? `${pod.namespace}/${pod.name}` : (volume ?? '')}: ${message}`;
}

function drained(report: Report): NewCondition {
  const { state, blockers, pods, problem } = report;
  if (state === 'Drained')
    return {
      type: 'Drained',
      status: 'True',
      reason: 'DrainCompleted',
      message: withStay('No pod is left to evict', report),
    };
  if (state === 'Detaching') {
    const volumes = joinLimited(blockers.flatMap(({ volume }) => volume ?? []));
    return {
      type: 'Drained',
      status: 'False',
      reason: 'VolumesAttached',
      message: `Still attached: ${volumes}`,
    };
  }
  const stuck = blockers.filter(needsHelp);
  if (stuck.length > 0) {
    return {
      type: 'Drained',
      status: 'False',
      reason: 'Blocked',
      message: fewOfEachReason(stuck, blockedText),
    };
  }
  if (state === 'Draining' && pods !== undefined) {
    return {
      type: 'Drained',
      status: 'False',
      reason: 'DrainInProgress',
      message: 'Pods are leaving the node',
    };
  }
  return {
    type: 'Drained',
    status: 'False',
    reason: problem?.reason ?? 'NotDraining',
    message: problem?.message ?? 'No drain is under way',
  };
}

function failed({ failure, problem }: Report): NewCondition {
  return failure === undefined
    ? { type: 'Failed', status: 'False', reason: 'NoFailure', message: '' }
    : {
        type: 'Failed',
        status: 'True',
        reason: failure,
        message: problem?.message ?? 'The maintenance has failed',
      };
}

/** Returns the conditions of a Maintenance. */
export function maintenanceConditions(
  report: Report,
  stored: MaintenanceStatus,
  generation: number,
  now: Temporal.Instant,
): readonly Condition[] {
  return withTransitions(
    [held(report), drained(report), failed(report)],
    stored.conditions,
    generation,
    now,
  );
}

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
