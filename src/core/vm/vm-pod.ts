import { isFinished, type Pod } from '../pod/pod.ts';
import { earliest, isBefore, secondsAfter, secondsBetween } from '../time.ts';
import { hasEnded, isOver, isUnstarted, type KubeVirtSettings, type UnplacedTarget, type Vmi, type VmMigration } from './kubevirt.ts';

/** What is known of the VMs that concern one node. */
export type NodeVms = {
  readonly settings: KubeVirtSettings;
  /** That run on the node, are meant to leave it, or have left it for this maintenance. */
  readonly vmis: readonly Vmi[];
  /** Of these VMs. */
  readonly migrations: readonly VmMigration[];
  /** Pods that have no node yet, by the uid of their migration; missing where that is not known. */
  readonly unplaced?: ReadonlyMap<string, UnplacedTarget>;
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
  /** Its target pod, as long as that has no node. */
  readonly unplaced?: UnplacedTarget;
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
export const vmPodsOf = (nodeName: string, pods: readonly Pod[], known: NodeVms | undefined): ReadonlyMap<string, VmPod> => {
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
      const unplaced = migration && known.unplaced?.get(migration.uid);
      const last = own.findLast(isOver);
      const vmPod: VmPod = {
        vmi,
        evictionEffect: evictionEffectOf(vmi, known.settings),
        stay: vmi.nodeName === undefined || vmi.nodeName === nodeName ? 'here' : migration === undefined ? 'left' : 'comes',
        ...(migration && { migration }),
        ...(unplaced && { unplaced }),
        ...(last?.phase === 'Failed' && { failed: last }),
      };
      return [[pod.uid, vmPod] as const];
    });
  return new Map(vmPods);
};

/** Seconds after which a target pod without a node counts as one that finds none; placing takes less than one where there is room. */
const placedWithin = 60;

/** Seconds that a target pod gets until it is ready, with a node or without: KubeVirt gives up after 15 minutes (migration.go, catch-all timeout). */
const readyWithin = 16 * 60;

/** Seconds that the guest of a VM gets until it has begun; before that nothing of it can be lost. */
const startedWithin = 60;

/** Seconds until KubeVirt has found out of a VM that runs whether it can be migrated: it does so with the first report of its node. */
const decidedWithin = 300;

/** Seconds that an external controller gets before somebody should look into it. */
const movedWithin = 600;

/** How far it is on its way from the node. */
export type MigrationProgress =
  | 'Arriving'
  /** It has moved; its pod is ending. */
  | 'Left'
  /** Nobody has asked for it. */
  | 'None'
  /** Nobody has asked for it, and KubeVirt would refuse: its guest has not begun for too long, or nobody finds out whether it can be migrated. */
  | 'Unready'
  /** Asked for; KubeVirt has not begun, because of its limits. */
  | 'Queued'
  /** The target pod looks for a node, or has one and is not ready. */
  | 'Placing'
  /** It has been looking for a node for too long. */
  | 'Lost'
  /** It has not become ready for longer than KubeVirt itself waits. */
  | 'Overdue'
  | 'Moving'
  /** The last attempt failed, and the next one has not begun. */
  | 'Failing'
  /** Somebody else is to move it. */
  | 'External'
  | 'ExternalLate';

const placing = new Set(['Scheduling', 'Scheduled']);

/** Nothing is copied yet: the target is being made ready. */
const preparing = new Set([...placing, 'PreparingTarget', 'TargetReady']);

/** A phase says nothing of a node: the target pod does. */
const ofMigration = ({ migration, unplaced, failed }: VmPod, now: Temporal.Instant): MigrationProgress => {
  if (migration === undefined || migration.phase === 'Pending') return failed === undefined ? 'Queued' : 'Failing';
  const { phase, since, createdAt } = migration;
  if (phase === 'Scheduling' && unplaced !== undefined && secondsBetween(unplaced.createdAt, now) > placedWithin) return 'Lost';
  if (preparing.has(phase) && secondsBetween(since ?? createdAt, now) > readyWithin) return 'Overdue';
  return phase === 'Scheduling' ? 'Placing' : 'Moving';
};

/** Until when KubeVirt may take its time with a VM of which it has not said whether it can be migrated; undefined where nobody knows since when. */
const decidedAt = (vmi: Vmi): Temporal.Instant | undefined =>
  vmi.since && secondsAfter(vmi.since, isUnstarted(vmi) ? startedWithin : decidedWithin);

const isUnready = ({ vmi, evictionEffect }: VmPod, now: Temporal.Instant): boolean => {
  if (evictionEffect !== 'Undecided') return false;
  const at = decidedAt(vmi);
  return at === undefined ? isUnstarted(vmi) : isBefore(at, now);
};

/** Where the VM is on its way now. */
export const migrationProgressOf = (vmPod: VmPod, now: Temporal.Instant): MigrationProgress => {
  const { vmi, evictionEffect, stay, migration, failed } = vmPod;
  if (stay !== 'here') return stay === 'comes' ? 'Arriving' : 'Left';
  if (migration !== undefined) return ofMigration(vmPod, now);
  if (isUnready(vmPod, now)) return 'Unready';
  if (vmi.evacuatedFrom === undefined) return 'None';
  if (evictionEffect === 'External') return secondsBetween(vmi.askedAt ?? now, now) > movedWithin ? 'ExternalLate' : 'External';
  return failed !== undefined ? 'Failing' : 'Queued';
};

/** When time alone will change what there is to say of it. */
export const looksDifferentAt = (vmPod: VmPod, now: Temporal.Instant): Temporal.Instant | undefined => {
  const { migration, unplaced, vmi, evictionEffect } = vmPod;
  const after = (moment: Temporal.Instant | undefined, seconds: number): Temporal.Instant | undefined =>
    moment && secondsAfter(moment, seconds + 1);
  const moments = [
    migration?.phase === 'Scheduling' ? after(unplaced?.createdAt, placedWithin) : undefined,
    migration !== undefined && preparing.has(migration.phase) ? after(migration.since ?? migration.createdAt, readyWithin) : undefined,
    evictionEffect === 'External' ? after(vmi.askedAt, movedWithin) : undefined,
    evictionEffect === 'Undecided' ? after(decidedAt(vmi), 0) : undefined,
  ];
  return earliest(moments.filter(moment => moment !== undefined && isBefore(now, moment)));
};

/** It is on its way, or at least in KubeVirt's queue: asking again would be in vain. */
export const isAsked = (vmPod: VmPod): boolean => vmPod.migration !== undefined || vmPod.vmi.evacuatedFrom !== undefined;

/** Its target pod is ready: what has come so far is not called back. */
export const hasBegun = ({ phase }: VmMigration): boolean => phase !== 'Pending' && !placing.has(phase);

/** Nothing moves it as things are: somebody has to help, or the policy has to shut it down. */
export const isStranded = (vmPod: VmPod, now: Temporal.Instant): boolean => {
  const migrationProgress = migrationProgressOf(vmPod, now);
  return (
    (migrationProgress === 'None' && vmPod.evictionEffect === 'Cannot') ||
    migrationProgress === 'Unready' ||
    migrationProgress === 'Lost' ||
    migrationProgress === 'Overdue' ||
    migrationProgress === 'Failing' ||
    migrationProgress === 'ExternalLate'
  );
};
