import {
  earliest,
  isBefore,
  pathSegment,
  secondsAfter,
  secondsBetween,
} from '@drydock/apimachinery';
import { isFinished, type Pod } from '../pod/pod.ts';
import type { Write } from '../write.ts';
import {
  hasEnded,
  isOver,
  isUnstarted,
  type KubeVirtSettings,
  type UnplacedTarget,
  type Vmi,
  type VmMigration,
} from './kubevirt.ts';

/** Facts about the VMs that concern one node. */
export type NodeVms = {
  readonly settings: KubeVirtSettings;
  /** VMs that run on the node, are meant to leave it, or have left it for this maintenance. */
  readonly vmis: readonly Vmi[];
  /** Migrations of these VMs. */
  readonly migrations: readonly VmMigration[];
  /** Pods that have no node yet, by the uid of their migration; missing if they are not known. */
  readonly unplaced?: ReadonlyMap<string, UnplacedTarget>;
  /** Number of VMs of other nodes whose move was requested from KubeVirt. */
  readonly askedElsewhere: number;
  /** Number of migrations in progress that no drain has requested. */
  readonly othersUnderWay: number;
  /** Durations of the latest migrations of the whole cluster. */
  readonly samples: readonly MigrationSample[];
};

/** A successful migration. */
export type MigrationSample = {
  readonly bytes: number;
  readonly waitedSeconds: number;
  readonly copiedSeconds: number;
};

/**
 * Effect of an eviction of its pod on a VM that runs on the node (kubevirt's
 * pod-eviction-admitter).
 */
type EvictionEffect =
  | 'Migrates'
  /** The VM must not be shut down and cannot be migrated: its eviction is refused. */
  | 'Cannot'
  /** KubeVirt has not determined it yet. */
  | 'Undecided'
  /** The VM is marked, for an external controller to move it. */
  | 'External'
  /** The VM is shut down, and started again elsewhere if its VirtualMachine demands it. */
  | 'Stops';

/** A virt-launcher pod's VM. */
export type VmPod = {
  readonly vmi: Vmi;
  readonly evictionEffect: EvictionEffect;
  /**
   * Place of the VM. here: it runs in this pod. comes: it runs elsewhere so far, and this pod is
   * its target. left: it has moved, and its pod is ending.
   */
  readonly stay: 'here' | 'comes' | 'left';
  /** Migration in progress. */
  readonly migration?: VmMigration;
  /** Its target pod, as long as that has no node. */
  readonly unplaced?: UnplacedTarget;
  /** Last migration, if it has failed. */
  readonly failed?: VmMigration;
};

/**
 * Returns the strategy in force, as KubeVirt determines it: the VM's own, otherwise the cluster's,
 * otherwise None.
 */
export function strategyOf(vmi: Vmi, { evictionStrategy }: KubeVirtSettings): string {
  return vmi.strategy ?? evictionStrategy ?? 'None';
}

function evictionEffectOf(vmi: Vmi, settings: KubeVirtSettings): EvictionEffect {
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
}

function byCreation(one: VmMigration, other: VmMigration): number {
  return (
    Temporal.Instant.compare(one.createdAt, other.createdAt) || (one.name < other.name ? -1 : 1)
  );
}

function isLauncher({ owner }: Pod): boolean {
  return owner?.kind === 'VirtualMachineInstance';
}

/**
 * Returns the VM pods by the uid of the pod. Pods that have ended are handled like any other, and
 * so are those whose VM is not known (any more): the response to their eviction determines what is
 * to be done.
 */
export function vmPodsOf(
  nodeName: string,
  pods: readonly Pod[],
  known: NodeVms | undefined,
): ReadonlyMap<string, VmPod> {
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
        stay:
          vmi.nodeName === undefined || vmi.nodeName === nodeName
            ? 'here'
            : migration === undefined
              ? 'left'
              : 'comes',
        ...(migration && { migration }),
        ...(unplaced && { unplaced }),
        ...(last?.phase === 'Failed' && { failed: last }),
      };
      return [[pod.uid, vmPod] as const];
    });
  return new Map(vmPods);
}

/**
 * Seconds after which a target pod without a node counts as one that finds none; scheduling takes
 * less than one if there is room.
 */
const placedWithin = 60;

/**
 * Seconds that a target pod gets until it is ready, with a node or without: KubeVirt gives up after
 * 15 minutes (migration.go, catch-all timeout).
 */
const readyWithin = 16 * 60;

/**
 * Seconds that the guest of a VM gets until it has started; before that nothing of it can be lost.
 */
const startedWithin = 60;

/**
 * Seconds until KubeVirt has determined whether a running VM can be migrated: it does so with the
 * first report of its node.
 */
const decidedWithin = 300;

/** Seconds that an external controller gets before a person should investigate. */
const movedWithin = 600;

/** Progress of a VM on its way from the node. */
export type MigrationProgress =
  | 'Arriving'
  /** The VM has moved; its pod is ending. */
  | 'Left'
  /** No move was requested. */
  | 'None'
  /**
   * No move was requested, and KubeVirt would refuse: its guest has not started for too long, or
   * nothing determines whether it can be migrated.
   */
  | 'Unready'
  /** A move was requested; KubeVirt has not begun, because of its limits. */
  | 'Queued'
  /** The target pod looks for a node, or has one and is not ready. */
  | 'Placing'
  /** The target pod has been looking for a node for too long. */
  | 'Lost'
  /** The target pod has not become ready for longer than KubeVirt itself waits. */
  | 'Overdue'
  | 'Moving'
  /** The last attempt failed, and the next one has not begun. */
  | 'Failing'
  /** An external controller is to move it. */
  | 'External'
  | 'ExternalLate';

const placing = new Set(['Scheduling', 'Scheduled']);

/** Phases in which nothing is copied yet: the target is being prepared. */
const preparing = new Set([...placing, 'PreparingTarget', 'TargetReady']);

/**
 * Returns the progress of a migration. Its phase does not show whether a node was found: the target
 * pod does.
 */
function ofMigration(
  { migration, unplaced, failed }: VmPod,
  now: Temporal.Instant,
): MigrationProgress {
  if (migration === undefined || migration.phase === 'Pending')
    return failed === undefined ? 'Queued' : 'Failing';
  const { phase, since, createdAt } = migration;
  if (
    phase === 'Scheduling' &&
    unplaced !== undefined &&
    secondsBetween(unplaced.createdAt, now) > placedWithin
  )
    return 'Lost';
  if (preparing.has(phase) && secondsBetween(since ?? createdAt, now) > readyWithin)
    return 'Overdue';
  return phase === 'Scheduling' ? 'Placing' : 'Moving';
}

/**
 * Returns until when KubeVirt may take to report whether a VM can be migrated; undefined if the
 * start of that time is unknown.
 */
function decidedAt(vmi: Vmi): Temporal.Instant | undefined {
  return vmi.since && secondsAfter(vmi.since, isUnstarted(vmi) ? startedWithin : decidedWithin);
}

function isUnready({ vmi, evictionEffect }: VmPod, now: Temporal.Instant): boolean {
  if (evictionEffect !== 'Undecided') return false;
  const at = decidedAt(vmi);
  return at === undefined ? isUnstarted(vmi) : isBefore(at, now);
}

/** Returns the present progress of the VM. */
export function migrationProgressOf(vmPod: VmPod, now: Temporal.Instant): MigrationProgress {
  const { vmi, evictionEffect, stay, migration, failed } = vmPod;
  if (stay !== 'here') return stay === 'comes' ? 'Arriving' : 'Left';
  if (migration !== undefined) return ofMigration(vmPod, now);
  if (isUnready(vmPod, now)) return 'Unready';
  if (vmi.evacuatedFrom === undefined) return 'None';
  if (evictionEffect === 'External')
    return secondsBetween(vmi.askedAt ?? now, now) > movedWithin ? 'ExternalLate' : 'External';
  return failed !== undefined ? 'Failing' : 'Queued';
}

/** Returns when time alone will change the text about it. */
export function looksDifferentAt(
  vmPod: VmPod,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const { migration, unplaced, vmi, evictionEffect } = vmPod;
  const after = (
    moment: Temporal.Instant | undefined,
    seconds: number,
  ): Temporal.Instant | undefined => moment && secondsAfter(moment, seconds + 1);
  const moments = [
    migration?.phase === 'Scheduling' ? after(unplaced?.createdAt, placedWithin) : undefined,
    migration !== undefined && preparing.has(migration.phase)
      ? after(migration.since ?? migration.createdAt, readyWithin)
      : undefined,
    evictionEffect === 'External' ? after(vmi.askedAt, movedWithin) : undefined,
    evictionEffect === 'Undecided' ? after(decidedAt(vmi), 0) : undefined,
  ];
  return earliest(moments.filter(moment => moment !== undefined && isBefore(now, moment)));
}

/**
 * Reports whether it is moving, or at least in KubeVirt's queue: another request would have no
 * effect.
 */
export function isAsked(vmPod: VmPod): boolean {
  return vmPod.migration !== undefined || vmPod.vmi.evacuatedFrom !== undefined;
}

/** Reports whether its target pod is ready: such a migration is not cancelled. */
function hasBegun({ phase }: VmMigration): boolean {
  return phase !== 'Pending' && !placing.has(phase);
}

/**
 * Reports whether nothing moves it at present: a person has to help, or the policy has to shut it
 * down.
 */
export function isStranded(vmPod: VmPod, now: Temporal.Instant): boolean {
  const migrationProgress = migrationProgressOf(vmPod, now);
  return (
    (migrationProgress === 'None' && vmPod.evictionEffect === 'Cannot') ||
    migrationProgress === 'Unready' ||
    migrationProgress === 'Lost' ||
    migrationProgress === 'Overdue' ||
    migrationProgress === 'Failing' ||
    migrationProgress === 'ExternalLate'
  );
}

const subresources = '/apis/subresources.kubevirt.io/v1';
const objects = '/apis/kubevirt.io/v1';

function place({ namespace, name }: Pick<Vmi, 'namespace' | 'name'>, plural: string): string {
  return `/namespaces/${pathSegment(namespace)}/${plural}/${pathSegment(name)}`;
}

/**
 * Removes the mark from the VM: no migration is begun for it any more. One that runs goes on
 * (kubevirt 1.7, evacuate/cancel).
 */
function cancelMark(vmi: Vmi, nodeName: string): Write {
  return {
    description: `cancel the evacuation of VM ${vmi.key}`,
    method: 'PUT',
    path: `${subresources}${place(vmi, 'virtualmachineinstances')}/evacuate/cancel`,
    body: { evacuationNodeName: nodeName },
    // Its response is empty; to a request for JSON it responds 406 and does nothing (observed on
    // 1.7).
    accept: '*/*',
    cache: 'vms',
    events: [],
  };
}

/** Ends a migration whose VM has not begun to move. */
function deleteMigration(migration: VmMigration): Write {
  return {
    description: `cancel the migration ${migration.key}, which has not begun`,
    method: 'DELETE',
    path: `${objects}${place(migration, 'virtualmachineinstancemigrations')}`,
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: migration.uid } },
    cache: 'vms',
    events: [],
  };
}

/** The cancelled part of the evacuation of a node, and the part that goes on. */
export type EvictionCancellation = {
  readonly writes: readonly Write[];
  /** `namespace/name` of the VMs that move all the same, sorted. */
  readonly goingOn: readonly string[];
  /** uids of cancelled evacuations, and when: each is cancelled once. */
  readonly asked: ReadonlyMap<string, Temporal.Instant>;
  /** True if some cancellations have not been observed yet. */
  readonly waits: boolean;
};

/** Seconds after which a mark that is still there will stay. */
const seenWithin = 5;

/**
 * Cancels evacuations that have not begun: first the marks, then the migrations that were created
 * for them, because otherwise new ones would be created at once. Each is cancelled once; an
 * evacuation that is not cancelled goes on, and is named.
 */
export function cancelEvictions(
  nodeName: string,
  { vmis, migrations }: Pick<NodeVms, 'vmis' | 'migrations'>,
  before: ReadonlyMap<string, Temporal.Instant>,
  now: Temporal.Instant,
): EvictionCancellation {
  const isFresh = (uid: string): boolean => {
    const at = before.get(uid);
    return at === undefined || secondsBetween(at, now) < seenWithin;
  };
  const current = migrations.filter(one => !isOver(one) && one.evacuates === nodeName);
  const running = new Set(current.filter(hasBegun).map(({ vmi }) => vmi));
  const marked = vmis.filter(vmi => vmi.evacuatedFrom === nodeName && !running.has(vmi.key));
  const isMarked = new Set(marked.map(({ key }) => key));
  const idle = current.filter(
    one => !running.has(one.vmi) && !isMarked.has(one.vmi) && !one.deleting,
  );
  const marks = marked.filter(({ uid }) => !before.has(uid));
  const ends = idle.filter(({ uid }) => !before.has(uid));
  return {
    writes: [...marks.map(vmi => cancelMark(vmi, nodeName)), ...ends.map(deleteMigration)],
    goingOn: [
      ...running,
      ...marked.filter(({ uid }) => !isFresh(uid)).map(({ key }) => key),
    ].sort(),
    asked: new Map([...before, ...[...marks, ...ends].map(({ uid }) => [uid, now] as const)]),
    waits: [...marked, ...idle].some(({ uid }) => isFresh(uid)),
  };
}
