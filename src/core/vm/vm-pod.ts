import { isFinished, type Pod } from '../pod/pod.ts';
import { isBefore, secondsAfter, secondsBetween } from '../time.ts';
import { hasEnded, isOver, type KubeVirtSettings, type Vmi, type VmMigration } from './kubevirt.ts';

/** What is known of the VMs that concern one node. */
export type VmsKnown = {
  readonly settings: KubeVirtSettings;
  /** That run on the node, are meant to leave it, or have left it for this maintenance. */
  readonly vmis: readonly Vmi[];
  /** Of these VMs. */
  readonly migrations: readonly VmMigration[];
  /** VMs of other nodes that somebody has asked KubeVirt to move. */
  readonly askedElsewhere: number;
  /** Migrations under way that no drain has asked for. */
  readonly othersUnderWay: number;
  /** Of the whole cluster, the latest ones: what they took. */
  readonly samples: readonly MigrationSample[];
};

/** A migration that has come to its good end. */
export type MigrationSample = { readonly bytes: number; readonly waitedSeconds: number; readonly copiedSeconds: number };

/** What an eviction of its pod means to a VM that runs on the node (kubevirt's pod-eviction-admitter). */
type EvictionEffect =
  | 'Migrates'
  /** It must not be shut down and cannot be migrated: its eviction is refused. */
  | 'Cannot'
  /** KubeVirt has not found out yet. */
  | 'Undecided'
  /** It is marked, for somebody else to move it. */
  | 'External'
  /** It is shut down, and started again elsewhere where its VirtualMachine says so. */
  | 'Stops';

/** A virt-launcher pod's VM. */
export type VmPod = {
  readonly vmi: Vmi;
  readonly evictionEffect: EvictionEffect;
  /** here: it runs in this pod. comes: it runs elsewhere so far, and this pod is where it will go. left: it has moved, and its pod is ending. */
  readonly stay: 'here' | 'comes' | 'left';
  /** The one under way. */
  readonly migration?: VmMigration;
  /** The last one, when it has failed. */
  readonly failed?: VmMigration;
};

/** The strategy in force, as KubeVirt reads it: the VM's own, else the cluster's, else None. */
export const strategyOf = (vmi: Vmi, { evictionStrategy }: KubeVirtSettings): string => vmi.strategy ?? evictionStrategy ?? 'None';

const evictionEffectOf = (vmi: Vmi, settings: KubeVirtSettings): EvictionEffect => {
  switch (strategyOf(vmi, settings)) {
    case 'External':
      return 'External';
    case 'LiveMigrate':
      return vmi.migratable === undefined ? 'Undecided' : vmi.migratable ? 'Migrates' : 'Cannot';
    case 'LiveMigrateIfPossible':
      return vmi.migratable === true ? 'Migrates' : 'Stops';
    default:
      return 'Stops';
  }
};

const byCreation = (one: VmMigration, other: VmMigration): number =>
  Temporal.Instant.compare(one.createdAt, other.createdAt) || (one.name < other.name ? -1 : 1);

const isLauncher = ({ owner }: Pod): boolean => owner?.kind === 'VirtualMachineInstance';

/**
 * By the uid of the pod. Pods that have ended are pods like any other, and so are those whose VM is not known (any more): the answer to their
 * eviction says what is to be done.
 */
export const vmPodsOf = (nodeName: string, pods: readonly Pod[], known: VmsKnown | undefined): ReadonlyMap<string, VmPod> => {
  if (known === undefined) return new Map();
  const vmis = new Map(known.vmis.map(vmi => [vmi.uid, vmi] as const));
  const migrations = Map.groupBy(known.migrations, ({ vmi }) => vmi);
  const vmPods = pods
    .filter(pod => isLauncher(pod) && !isFinished(pod))
    .flatMap(pod => {
      const vmi = vmis.get(pod.owner?.uid ?? '');
      if (vmi === undefined || hasEnded(vmi)) return [];
      const own = (migrations.get(vmi.key) ?? []).toSorted(byCreation);
      const migration = own.findLast(one => !isOver(one));
      const last = own.findLast(isOver);
      const vmPod: VmPod = {
        vmi,
        evictionEffect: evictionEffectOf(vmi, known.settings),
        stay: vmi.nodeName === undefined || vmi.nodeName === nodeName ? 'here' : migration === undefined ? 'left' : 'comes',
        ...(migration && { migration }),
        ...(last?.phase === 'Failed' && { failed: last }),
      };
      return [[pod.uid, vmPod] as const];
    });
  return new Map(vmPods);
};

/** Seconds after which a target pod without a node counts as one that finds none; placing takes less than one where there is room. */
const placedWithin = 60;

/** Seconds that an external controller gets before somebody should look into it. */
const movedWithin = 600;

/** How far it is on its way from the node. */
export type MigrationProgress =
  | 'Arriving'
  /** It has moved; its pod is ending. */
  | 'Left'
  /** Nobody has asked for it. */
  | 'None'
  /** Asked for; KubeVirt has not begun, because of its limits. */
  | 'Queued'
  /** The target pod looks for a node. */
  | 'Placing'
  /** It has been looking for too long. */
  | 'Lost'
  | 'Moving'
  /** The last attempt failed, and the next one has not begun. */
  | 'Failing'
  /** Somebody else is to move it. */
  | 'External'
  | 'ExternalLate';

const placing = new Set(['Scheduling', 'Scheduled']);

const ofMigration = ({ phase, since, createdAt }: VmMigration, failed: boolean, now: Temporal.Instant): MigrationProgress => {
  if (phase === 'Pending') return failed ? 'Failing' : 'Queued';
  if (phase !== 'Scheduling') return 'Moving';
  return secondsBetween(since ?? createdAt, now) > placedWithin ? 'Lost' : 'Placing';
};

/** Where the VM is on its way now. */
export const migrationProgressOf = ({ vmi, evictionEffect, stay, migration, failed }: VmPod, now: Temporal.Instant): MigrationProgress => {
  if (stay !== 'here') return stay === 'comes' ? 'Arriving' : 'Left';
  if (migration !== undefined) return ofMigration(migration, failed !== undefined, now);
  if (vmi.evacuatedFrom === undefined) return 'None';
  if (evictionEffect === 'External') return secondsBetween(vmi.askedAt ?? now, now) > movedWithin ? 'ExternalLate' : 'External';
  return failed !== undefined ? 'Failing' : 'Queued';
};

/** When time alone will change what there is to say of it. */
export const looksDifferentAt = (vmPod: VmPod, now: Temporal.Instant): Temporal.Instant | undefined => {
  const { migration, vmi } = vmPod;
  const moments = [
    migration?.phase === 'Scheduling' ? secondsAfter(migration.since ?? migration.createdAt, placedWithin + 1) : undefined,
    vmPod.evictionEffect === 'External' ? vmi.askedAt && secondsAfter(vmi.askedAt, movedWithin + 1) : undefined,
  ];
  return moments.find(moment => moment !== undefined && isBefore(now, moment));
};

/** It is on its way, or at least in KubeVirt's queue: asking again would be in vain. */
export const isAsked = (vmPod: VmPod): boolean => vmPod.migration !== undefined || vmPod.vmi.evacuatedFrom !== undefined;

/** Its target pod has a node: what has come so far is not called back. */
export const hasBegun = ({ phase }: VmMigration): boolean => phase !== 'Pending' && !placing.has(phase);

/** Nothing moves it as things are: somebody has to help, or the policy has to shut it down. */
export const isStranded = (vmPod: VmPod, now: Temporal.Instant): boolean => {
  const migrationProgress = migrationProgressOf(vmPod, now);
  return (
    (migrationProgress === 'None' && vmPod.evictionEffect === 'Cannot') ||
    migrationProgress === 'Lost' ||
    migrationProgress === 'Failing' ||
    migrationProgress === 'ExternalLate'
  );
};
