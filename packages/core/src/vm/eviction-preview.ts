import { whyNotMigratable } from './kubevirt.ts';
import type { VmPolicy } from './policy.ts';
import type { VmPod } from './vm-pod.ts';

/** Effect of a drain on a VM, for a preview before it begins. */
export type EvictionPreview = {
  /** `namespace/name` of the VM. */
  readonly name: string;
  /**
   * True if it is shut down, or keeps the node from being drained: users have to be warned before.
   */
  readonly warns: boolean;
  /** Text that follows "VM namespace/name". */
  readonly text: string;
};

function cannot({ vmi }: VmPod, { notMigratable, shutDownAfterSeconds }: VmPolicy): string {
  const why = `cannot be migrated (${whyNotMigratable(vmi)})`;
  switch (notMigratable) {
    case 'Wait':
      return `${why}, and must not be shut down: it keeps the node from being drained`;
    case 'ShutDown':
      return `${why}, and is shut down ${shutDownAfterSeconds === 0 ? 'at once' : `${shutDownAfterSeconds} s after the start`}`;
    case 'Refuse':
      return `${why}: nothing on the node is moved`;
    default:
      return notMigratable satisfies never;
  }
}

function stops({ vmi }: VmPod, { notMigrated }: VmPolicy): string {
  const why =
    vmi.strategy === 'LiveMigrateIfPossible'
      ? 'cannot be migrated'
      : 'is not meant to be migrated (evictionStrategy None)';
  switch (notMigrated) {
    case 'Evict':
      return `${why}, and is shut down by its eviction`;
    case 'Wait':
      return `${why}: it is left running, and keeps the node from being drained`;
    case 'Refuse':
      return `${why}: nothing on the node is moved`;
    default:
      return notMigrated satisfies never;
  }
}

function textOf(vmPod: VmPod, policy: VmPolicy): string {
  switch (vmPod.evictionEffect) {
    case 'Migrates':
      return 'is live-migrated';
    case 'External':
      return 'is moved by a controller of its own (evictionStrategy External)';
    case 'Undecided':
      return 'is live-migrated if possible: KubeVirt has not determined yet whether it is';
    case 'Cannot':
      return cannot(vmPod, policy);
    case 'Stops':
      return stops(vmPod, policy);
    default:
      return vmPod.evictionEffect satisfies never;
  }
}

/** Returns the effects, sorted by name; VMs that only arrive here are left out. */
export function evictionPreview(
  vmPods: Iterable<VmPod>,
  policy: VmPolicy,
): readonly EvictionPreview[] {
  return [...vmPods]
    .filter(({ stay }) => stay === 'here')
    .map(vmPod => ({
      name: vmPod.vmi.key,
      warns: vmPod.evictionEffect === 'Cannot' || vmPod.evictionEffect === 'Stops',
      text: textOf(vmPod, policy),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
