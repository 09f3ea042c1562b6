import { isBefore, truncate } from '@drydock/apimachinery';
import type { Pod } from '../../pod/pod.ts';
import {
  hasEnded,
  isUnstarted,
  type KubeVirtSettings,
  unsaid,
  type Vmi,
  type VmMigration,
  whyNotMigratable,
} from '../../vm/kubevirt.ts';
import {
  isAsked,
  isStranded,
  looksDifferentAt,
  type MigrationProgress,
  migrationProgressOf,
  type NodeVms,
  type VmPod,
} from '../../vm/vm-pod.ts';
import type { VmState, VmStatus } from '../../vm/vm-status.ts';
import type { BlockerInfo } from '../blockers/blocker.ts';
import type { InFlightEviction } from '../budgets/budget.ts';
import { type Attempt, retryAt } from '../outcome/eviction-outcome.ts';
import type { PodDecision } from '../pod-decision.ts';

/** Text of the blocker for a VM's pod that has not left yet. */

type Text = Pick<BlockerInfo, 'reason' | 'message' | 'remedy'>;

function limits({ parallelPerNode, parallelPerCluster }: KubeVirtSettings): string {
  return `KubeVirt migrates ${parallelPerNode} at a time from a node and ${parallelPerCluster} in the cluster`;
}

function phaseText(migration: VmMigration | undefined): string {
  const to = migration?.target === undefined ? '' : ` to ${migration.target}`;
  return `is being migrated${to} (${migration?.phase ?? 'begun'})`;
}

function describeTarget({ namespace }: Vmi, migration: VmMigration | undefined): string {
  return `kubectl -n ${namespace} describe pod -l kubevirt.io/migrationJobUID=${migration?.uid ?? ''}`;
}

const onItsWay: Readonly<
  Record<Exclude<MigrationProgress, 'None'>, (vmPod: VmPod, settings: KubeVirtSettings) => Text>
> = {
  Arriving: ({ vmi }) => ({
    reason: 'Evacuating',
    message: `is where VM ${vmi.name} is being migrated to`,
  }),
  Left: ({ vmi }) => ({
    reason: 'Terminating',
    message: `VM ${vmi.name} has moved; the pod that it left is ending`,
  }),
  Queued: ({ vmi }, settings) => ({
    reason: 'MigrationQueued',
    message: `VM ${vmi.name} waits for its turn: ${limits(settings)}`,
  }),
  Placing: ({ vmi, migration }) => ({
    reason: 'Evacuating',
    message: `VM ${vmi.name} ${phaseText(migration)}`,
  }),
  Moving: ({ vmi, migration }) => ({
    reason: 'Evacuating',
    message: `VM ${vmi.name} ${phaseText(migration)}`,
  }),
  Unready: ({ vmi }) => ({
    reason: 'NotMigratable',
    message: isUnstarted(vmi)
      ? `VM ${vmi.name} has not started on the node (${vmi.phase}), and KubeVirt lets no such VM be evicted`
      : `KubeVirt has not determined for minutes whether VM ${vmi.name} can be migrated, and lets no such VM be evicted`,
    remedy: `see why: kubectl -n ${vmi.namespace} describe vmi ${vmi.name}; stop the VM, or let the policy do so (drain.virtualMachines.notMigratable)`,
  }),
  Lost: ({ vmi, migration, unplaced }) => ({
    reason: 'NoMigrationTarget',
    message: `no node takes VM ${vmi.name}: the pod that it is to be migrated to is not scheduled${unplaced?.why === undefined ? '' : `: ${truncate(unplaced.why)}`}`,
    remedy: `see what it lacks: ${describeTarget(vmi, migration)}`,
  }),
  Overdue: ({ vmi, migration }) => ({
    reason: 'NoMigrationTarget',
    message: `the pod that VM ${vmi.name} is to be migrated to has not become ready for longer than KubeVirt waits (${migration?.phase ?? 'begun'})`,
    remedy: `see what keeps it: ${describeTarget(vmi, migration)}; check virt-controller`,
  }),
  Failing: ({ vmi, failed }) => ({
    reason: 'MigrationFailed',
    message: `the last migration of VM ${vmi.name} failed: ${failed?.failure ?? unsaid}; KubeVirt tries again`,
    remedy: `inspect it: kubectl -n ${vmi.namespace} describe vmim ${failed?.name ?? ''}`,
  }),
  External: ({ vmi }) => ({
    reason: 'Evacuating',
    message: `VM ${vmi.name} is marked for the controller that moves it (evictionStrategy External)`,
  }),
  ExternalLate: ({ vmi }) => ({
    reason: 'NotMigratable',
    message: `VM ${vmi.name} has been marked for the controller that moves it (evictionStrategy External), which has not done so`,
    remedy: 'check the controller that owns the VM, or shut the VM down',
  }),
};

function notAsked({ vmi, evictionEffect }: VmPod): Text {
  if (evictionEffect === 'Undecided')
    return {
      reason: 'Evacuating',
      message: `KubeVirt has not determined yet whether VM ${vmi.name} can be migrated`,
    };
  if (evictionEffect === 'Cannot') {
    return {
      reason: 'NotMigratable',
      message: `VM ${vmi.name} must be migrated (evictionStrategy LiveMigrate) and cannot be: ${whyNotMigratable(vmi)}`,
      remedy:
        'make it migratable, shut it down, or let the policy do so (drain.virtualMachines.notMigratable)',
    };
  }
  return {
    reason: 'VirtualMachineStops',
    message: `an eviction would shut down VM ${vmi.name}, and the policy does not want that`,
    remedy:
      'set its evictionStrategy to LiveMigrate, shut it down, or set drain.virtualMachines.notMigrated to Evict',
  };
}

function about({ namespace, name }: Pod): NonNullable<BlockerInfo['pod']> {
  return { namespace, name };
}

/** Returns the blocker for a VM that is about to move, or whose move is not requested. */
function vmPodBlockerInfo(
  pod: Pod,
  vmPod: VmPod,
  settings: KubeVirtSettings,
  now: Temporal.Instant,
): BlockerInfo {
  const migrationProgress = migrationProgressOf(vmPod, now);
  return {
    pod: about(pod),
    ...(migrationProgress === 'None'
      ? notAsked(vmPod)
      : onItsWay[migrationProgress](vmPod, settings)),
  };
}

/** Returns the blocker for a VM that could leave, if KubeVirt had room. */
function noSlotBlockerInfo(pod: Pod, vmPod: VmPod, settings: KubeVirtSettings): BlockerInfo {
  return {
    pod: about(pod),
    ...onItsWay.Queued(vmPod, settings),
  };
}

/** States of the VMs of a node over the life of a maintenance. */
export type VmTrackingState = {
  /** States by the uid of the VMI. */
  readonly vms: ReadonlyMap<string, VmStatus>;
  /**
   * Numbers of VMs that had left before this process looked, and of which nothing else is known any
   * more.
   */
  readonly before: { readonly moved: number; readonly stopped: number };
};

export const nothingTracked: VmTrackingState = { vms: new Map(), before: { moved: 0, stopped: 0 } };

function stateOf(vmPod: VmPod, now: Temporal.Instant): VmState {
  if (isStranded(vmPod, now)) return 'Cannot';
  const migrationProgress = migrationProgressOf(vmPod, now);
  return migrationProgress === 'Placing' || migrationProgress === 'Moving'
    ? 'Migrating'
    : 'Waiting';
}

function intention({ evictionEffect }: VmPod): string {
  return evictionEffect === 'Stops'
    ? 'is shut down by its eviction, as its evictionStrategy says'
    : 'waits for its turn';
}

function present(
  pod: Pod,
  vmPod: VmPod,
  settings: KubeVirtSettings,
  now: Temporal.Instant,
): VmStatus {
  const { vmi, migration } = vmPod;
  const state = stateOf(vmPod, now);
  const isIdle =
    state === 'Waiting' &&
    migrationProgressOf(vmPod, now) === 'None' &&
    vmPod.evictionEffect !== 'Undecided';
  const { message, remedy } = isIdle
    ? { message: intention(vmPod) }
    : vmPodBlockerInfo(pod, vmPod, settings, now);
  return {
    platform: 'KubeVirt',
    id: vmi.uid,
    name: vmi.key,
    state,
    message,
    ...(remedy !== undefined && { remedy }),
    ...(migration?.target !== undefined && { target: migration.target }),
    ...(migration?.since && { since: migration.since }),
  };
}

/**
 * Returns the state of a VM that was here and is not any more. If it still runs elsewhere, it has
 * been moved.
 */
function departed(before: VmStatus, vmi: Vmi | undefined, nodeName: string): VmStatus {
  const { platform, id, name, state } = before;
  if (state === 'Moved' || state === 'Stopped') return before;
  if (vmi === undefined || hasEnded(vmi) || vmi.deleting)
    return { platform, id, name, state: 'Stopped' };
  if (vmi.nodeName === nodeName || vmi.nodeName === undefined) return before;
  return { platform, id, name, state: 'Moved', target: vmi.nodeName };
}

/**
 * Returns the states after a look: VMs that are here, and the present state of the others. Arriving
 * VMs count once they are here.
 */
export function trackVms(
  nodeName: string,
  pods: readonly Pod[],
  vmPods: ReadonlyMap<string, VmPod>,
  known: NodeVms,
  before: VmTrackingState,
  now: Temporal.Instant,
): VmTrackingState {
  const here = pods.flatMap(pod => {
    const vmPod = vmPods.get(pod.uid);
    return vmPod === undefined || vmPod.stay !== 'here'
      ? []
      : [[vmPod.vmi.uid, present(pod, vmPod, known.settings, now)] as const];
  });
  const vmis = new Map(known.vmis.map(vmi => [vmi.uid, vmi] as const));
  const after = new Map(
    [...before.vms].map(
      ([id, standing]) => [id, departed(standing, vmis.get(id), nodeName)] as const,
    ),
  );
  // A VM that has come back is here again.
  for (const [id, standing] of here) after.set(id, standing);
  return { ...before, vms: after };
}

/** Number of further VMs that may be evicted: decremented while one plan is made. */
export class MigrationSlots {
  #left: number;

  constructor(left: number) {
    this.#left = left;
  }

  take(): boolean {
    this.#left -= 1;
    return this.#left >= 0;
  }
}

/** Facts beside the VM that decide on its pod. */
type VmPodContext = {
  readonly vms: NodeVms;
  readonly attempt: Attempt | undefined;
  /** True if a request allows that the eviction of a VM's pod shuts the VM down. */
  readonly mayStop: boolean;
  readonly room: MigrationSlots;
  readonly now: Temporal.Instant;
};

/**
 * Returns the decision for a VM's pod; undefined: the pod is handled like any other. A VM's move is
 * requested once, and again only when it no longer moves and its pod is still here. An eviction
 * that KubeVirt would refuse is not sent. Budgets are not considered for VMs that migrate:
 * KubeVirt's webhook comes before them, and the budgets of older versions never allow anything and
 * are never evaluated.
 */
export function vmPodDecision(
  pod: Pod,
  vmPod: VmPod,
  { vms, attempt, mayStop, room, now }: VmPodContext,
): PodDecision | undefined {
  const { settings } = vms;
  const later = looksDifferentAt(vmPod, now);
  const wait: PodDecision = {
    verdict: 'wait',
    blockerInfo: vmPodBlockerInfo(pod, vmPod, settings, now),
    ...(later && { requeueAt: later }),
  };
  if (vmPod.stay !== 'here' || isAsked(vmPod)) return wait;
  switch (vmPod.evictionEffect) {
    case 'Cannot':
    case 'Undecided':
      return wait;
    case 'Stops':
      return mayStop ? undefined : wait;
    case 'External':
    case 'Migrates':
      if (attempt?.method === 'evict' && isBefore(now, retryAt(attempt, pod.uid))) return undefined;
      if (vmPod.evictionEffect === 'External' || room.take()) return { verdict: 'call' };
      return {
        verdict: 'wait',
        blockerInfo: noSlotBlockerInfo(pod, vmPod, settings),
        waitsForSlots: true,
      };
    default:
      return vmPod.evictionEffect satisfies never;
  }
}

/** Reports whether this is the eviction of a VM's pod. */
export function isLauncher({ podName }: InFlightEviction): boolean {
  return podName.startsWith('virt-launcher-');
}

/**
 * Reports whether we have requested its move, and KubeVirt's mark on the VM has not been observed
 * yet.
 */
function isBeingAsked(
  uid: string,
  inFlight: readonly InFlightEviction[],
  attempts: ReadonlyMap<string, Attempt>,
): boolean {
  return (
    attempts.get(uid)?.outcome.kind === 'evacuating' ||
    inFlight.some(inFlightEviction => inFlightEviction.uid === uid)
  );
}

/**
 * Returns how many more VMs may be evicted now: one more than KubeVirt migrates at a time, so that
 * it always has a next one. Newer versions begin a migration of high priority for every VM that is
 * marked, and two hundred of them would delay all other migrations. One is always allowed, however
 * many migrations others have in progress. `vmPods`: by the uid of the pod.
 */
export function roomFor(
  nodeName: string,
  known: NodeVms,
  vmPods: ReadonlyMap<string, VmPod>,
  {
    inFlight,
    attempts,
  }: {
    readonly inFlight: readonly InFlightEviction[];
    readonly attempts: ReadonlyMap<string, Attempt>;
  },
): number {
  const { parallelPerNode, parallelPerCluster } = known.settings;
  const asked = [...vmPods].filter(
    ([uid, vmPod]) =>
      vmPod.stay === 'here' && (isAsked(vmPod) || isBeingAsked(uid, inFlight, attempts)),
  ).length;
  const elsewhere =
    known.askedElsewhere +
    inFlight.filter(
      inFlightEviction => inFlightEviction.nodeName !== nodeName && isLauncher(inFlightEviction),
    ).length;
  const onNode = parallelPerNode + 1 - asked;
  const inCluster = Math.max(1, parallelPerCluster + 1 - known.othersUnderWay) - elsewhere - asked;
  return Math.max(0, Math.min(onNode, inCluster));
}
