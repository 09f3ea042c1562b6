import { secondsBetween } from '@drydock/apimachinery';
import type { Pod } from '../pod/pod.ts';
import {
  isOver,
  type KubeVirtSettings,
  type UnplacedTarget,
  type Vmi,
  type VmMigration,
} from './kubevirt.ts';
import { type MigrationSample, type NodeVms, strategyOf } from './vm-pod.ts';

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
