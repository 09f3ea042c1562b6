import { truncate } from '@drydock/apimachinery';
import type { Pod } from '../../pod/pod.ts';
import {
  isUnstarted,
  type KubeVirtSettings,
  unsaid,
  type Vmi,
  type VmMigration,
  whyNotMigratable,
} from '../../vm/kubevirt.ts';
import { type MigrationProgress, migrationProgressOf, type VmPod } from '../../vm/vm-pod.ts';
import type { BlockerInfo } from '../blockers/blocker.ts';

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
export function vmPodBlockerInfo(
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
export function noSlotBlockerInfo(pod: Pod, vmPod: VmPod, settings: KubeVirtSettings): BlockerInfo {
  return {
    pod: about(pod),
    ...onItsWay.Queued(vmPod, settings),
  };
}
