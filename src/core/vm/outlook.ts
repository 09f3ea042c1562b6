import { whyNotMigratable } from './kubevirt.ts';
import type { VmPolicy } from './policy.ts';
import type { Guest } from './vm-pod.ts';

/** What a drain does to a VM, told before it begins. */
export type VmOutlook = {
  /** `namespace/name`. */
  readonly name: string;
  /** It is shut down, or keeps the node from being drained: somebody should know before. */
  readonly warns: boolean;
  /** Goes on after "VM namespace/name". */
  readonly text: string;
};

const cannot = ({ vmi }: Guest, { notMigratable, shutDownAfterSeconds }: VmPolicy): string => {
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
};

const stops = ({ vmi }: Guest, { notMigrated }: VmPolicy): string => {
  const why = vmi.strategy === 'LiveMigrateIfPossible' ? 'cannot be migrated' : 'is not meant to be migrated (evictionStrategy None)';
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
};

const textOf = (guest: Guest, policy: VmPolicy): string => {
  switch (guest.prospect) {
    case 'Migrates':
      return 'is live-migrated';
    case 'External':
      return 'is moved by a controller of its own (evictionStrategy External)';
    case 'Undecided':
      return 'is live-migrated if it can be: KubeVirt has not said yet';
    case 'Cannot':
      return cannot(guest, policy);
    case 'Stops':
      return stops(guest, policy);
    default:
      return guest.prospect satisfies never;
  }
};

/** Sorted by name; VMs that only come here are left out. */
export const vmOutlook = (guests: Iterable<Guest>, policy: VmPolicy): readonly VmOutlook[] =>
  [...guests]
    .filter(({ stay }) => stay === 'here')
    .map(guest => ({
      name: guest.vmi.key,
      warns: guest.prospect === 'Cannot' || guest.prospect === 'Stops',
      text: textOf(guest, policy),
    }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
