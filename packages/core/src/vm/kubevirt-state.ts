import { secondsBetween } from '@drydock/apimachinery';
import type { Pod } from '../pod/pod.ts';
import {
  isOver,
  type KubeVirtSettings,
  type UnplacedTarget,
  type Vmi,
  type VmMigration,
  whyNotMigratable,
} from './kubevirt.ts';
import { type MigrationSample, type NodeVms, strategyOf, type VmPod } from './vm-pod.ts';
import type { DesiredHostState, HostView, VmPolicy } from './vm-status.ts';

/** Everything known about a cluster's VMs. */
export type KubeVirtState = {
  readonly settings: KubeVirtSettings;
  readonly vmis: readonly Vmi[];
  readonly migrations: readonly VmMigration[];
  /** Target pods without a node; missing if they are not known. */
  readonly unplaced?: readonly UnplacedTarget[];
};

/** Load of migrations in the whole cluster, and their durations so far. */
export type MigrationLoad = {
  /** VMs whose move was requested from KubeVirt: they count against its limits. */
  readonly asked: readonly Vmi[];
  /** Number of migrations that no drain has requested. */
  readonly others: number;
  readonly samples: readonly MigrationSample[];
};

/** Number of the latest migrations from which durations are learned. */
const maxSamples = 50;

/** Returns the durations of the latest successful migrations. */
function samplesOf({ vmis, migrations }: KubeVirtState): readonly MigrationSample[] {
  const memory = new Map(vmis.map(vmi => [vmi.key, vmi.memory] as const));
  const good = migrations.flatMap(({ vmi, phase, createdAt, runningAt, endedAt }) => {
    const bytes = memory.get(vmi);
    if (
      phase !== 'Succeeded' ||
      bytes === undefined ||
      runningAt === undefined ||
      endedAt === undefined
    )
      return [];
    const waitedSeconds = Math.max(0, secondsBetween(createdAt, runningAt));
    return [
      {
        endedAt,
        sample: { bytes, waitedSeconds, copiedSeconds: secondsBetween(runningAt, endedAt) },
      },
    ];
  });
  const latest = good
    .toSorted((one, other) => Temporal.Instant.compare(other.endedAt, one.endedAt))
    .slice(0, maxSamples);
  return latest.map(({ sample }) => sample);
}

/** Computes the load once, for all nodes. */
export function migrationLoadOf(vms: KubeVirtState): MigrationLoad {
  const marked = vms.vmis.filter(vmi => vmi.evacuatedFrom !== undefined);
  const keys = new Set(marked.map(({ key }) => key));
  const others = vms.migrations.filter(
    one =>
      !isOver(one) && one.phase !== 'Pending' && one.evacuates === undefined && !keys.has(one.vmi),
  );
  return {
    asked: marked.filter(vmi => strategyOf(vmi, vms.settings) !== 'External'),
    others: others.length,
    samples: samplesOf(vms),
  };
}

/** Returns the uids of the VMs that these pods run. */
export function ownersOf(pods: readonly Pod[]): ReadonlySet<string> {
  return new Set(
    pods.flatMap(({ owner }) => (owner?.kind === 'VirtualMachineInstance' ? [owner.uid] : [])),
  );
}

/**
 * Returns the VMs of one node: `here` are its VMs, those of its pods, and those that it had;
 * `migrations` are theirs.
 */
export function nodeVmsFor(
  { settings, vmis: here, migrations, unplaced }: KubeVirtState,
  { asked, others, samples }: MigrationLoad,
): NodeVms {
  const uids = new Set(here.map(({ uid }) => uid));
  return {
    settings,
    vmis: here,
    migrations,
    ...(unplaced && {
      unplaced: new Map(unplaced.map(target => [target.migration, target] as const)),
    }),
    askedElsewhere: asked.filter(({ uid }) => !uids.has(uid)).length,
    othersUnderWay: others,
    samples,
  };
}

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

/** The nodes that are hypervisors, and the party that moves their VMs that are not pods. */
export interface Hypervisors {
  /**
   * Returns the view on a hypervisor. unknown: not found out yet. none: the node is no hypervisor.
   */
  of(nodeName: string): HostView | 'unknown' | 'none';
  /**
   * Sets whether the hypervisor is to be emptied; undefined if no request wants that any more.
   * Called at every pass of the node; the same state again changes nothing.
   */
  want(nodeName: string, desired: DesiredHostState | undefined): void;
}
