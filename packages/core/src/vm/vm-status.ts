import { isBefore, secondsAfter, secondsBetween } from '@drydock/apimachinery';
import { isStranded, type MigrationSample, type NodeVms, type VmPod } from './vm-pod.ts';

/** State of a VM that has to leave a node. */
export type VmState =
  /** Its turn has not come yet. */
  | 'Waiting'
  | 'Migrating'
  /** The VM runs on another node. */
  | 'Moved'
  /**
   * The VM was shut down, because it could not be moved or was not meant to be; its owner may start
   * it again elsewhere.
   */
  | 'Stopped'
  /** The VM cannot move without help. */
  | 'Cannot'
  /** The VM stays where it is, because of the policy. */
  | 'Left';

/** A VM that is or was on a node, of any platform. */
export type VmStatus = {
  readonly platform: 'KubeVirt' | 'OpenStack';
  /** Unique id: uid of the VMI, UUID of the server. */
  readonly id: string;
  /** Name for people: `namespace/name` of the VMI, name of the server. */
  readonly name: string;
  readonly state: VmState;
  /** Present activity, or why it cannot move, in the platform's own words if there are any. */
  readonly message?: string;
  /** Remedy, for `Cannot`. */
  readonly remedy?: string;
  /** Percentage, if the platform reports it. */
  readonly progress?: number;
  /** Node or host that it goes or went to. */
  readonly target?: string;
  /** Time since when it is in this state, as far as known. */
  readonly since?: Temporal.Instant;
};

/** Reports whether it does not keep its node any more. */
export function hasGone({ state }: Pick<VmStatus, 'state'>): boolean {
  return state === 'Moved' || state === 'Left' || state === 'Stopped';
}

/** Reports whether it moves, or will when it has its turn, without help. */
export function isOnItsWay({ state }: Pick<VmStatus, 'state'>): boolean {
  return state === 'Waiting' || state === 'Migrating';
}

/** Numbers of VMs, in total and by state. */
export type VmCounts = Readonly<
  Record<'total' | 'waiting' | 'migrating' | 'moved' | 'stopped' | 'cannot' | 'left', number>
>;

/** Counts the VMs; `before` are those that have left and are not in the list any more. */
export function countVms(vms: readonly VmStatus[], before = { moved: 0, stopped: 0 }): VmCounts {
  const count = (state: VmState): number => vms.filter(vm => vm.state === state).length;
  return {
    total: vms.length + before.moved + before.stopped,
    waiting: count('Waiting'),
    migrating: count('Migrating'),
    moved: count('Moved') + before.moved,
    stopped: count('Stopped') + before.stopped,
    cannot: count('Cannot'),
    left: count('Left'),
  };
}

/** Seconds below which Kubernetes' whole seconds do not allow to measure a duration. */
const minimum = 0.5;

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

/**
 * Returns the bytes that one migration copies in a second, and the seconds that it takes beside.
 */
function paceOf(samples: readonly MigrationSample[]): {
  readonly rate: number;
  readonly overhead: number;
} {
  const bytes = samples.reduce((sum, sample) => sum + sample.bytes, 0);
  const seconds = samples.reduce((sum, sample) => sum + Math.max(minimum, sample.copiedSeconds), 0);
  return {
    rate: bytes / seconds,
    overhead: median(samples.map(({ waitedSeconds }) => waitedSeconds)),
  };
}

/** Returns the seconds that this VM still needs once it has its turn. */
function needs(
  { vmi, migration }: VmPod,
  pace: ReturnType<typeof paceOf>,
  now: Temporal.Instant,
): number {
  const whole = pace.overhead + (vmi.memory ?? 0) / pace.rate;
  return migration === undefined
    ? whole
    : Math.max(minimum, whole - Math.max(0, secondsBetween(migration.createdAt, now)));
}

/**
 * Returns when the last VM will have moved, from the sizes of those that are left and the durations
 * of the latest migrations in this cluster, as many at a time as KubeVirt allows. Undefined if no
 * migration has been observed yet, or nothing has to move.
 */
export function lastMoveAt(
  vmPods: Iterable<VmPod>,
  { settings, samples }: NodeVms,
  now: Temporal.Instant,
): Temporal.Instant | undefined {
  const moving = [...vmPods].filter(
    ({ stay, evictionEffect }) => stay === 'here' && evictionEffect === 'Migrates',
  );
  const pace = paceOf(samples);
  if (moving.length === 0 || !Number.isFinite(pace.rate) || pace.rate <= 0) return undefined;
  const times = moving.map(vmPod => needs(vmPod, pace, now));
  const together =
    times.reduce((sum, time) => sum + time, 0) /
    Math.max(1, Math.min(settings.parallelPerNode, settings.parallelPerCluster));
  return secondsAfter(now, Math.max(together, ...times));
}

/** Policy for the servers of an OpenStack hypervisor that is to be empty. */
export type ServerPolicy = {
  /** Action for active servers. */
  readonly active: 'LiveMigrate' | 'Leave';
  readonly paused: 'LiveMigrate' | 'Leave';
  /** Action for stopped servers: a cold migration does not start them. */
  readonly stopped: 'ColdMigrate' | 'Leave';
  /**
   * Action for servers in error, which Nova does not move. Wait: a person has to repair or delete
   * them before the host counts as empty.
   */
  readonly failed: 'Wait' | 'Leave';
  /**
   * Action for servers whose disks are on the host itself: Nova copies them, which may take long.
   */
  readonly localDisk: 'Migrate' | 'Leave';
};

export const defaultServerPolicy: ServerPolicy = {
  active: 'LiveMigrate',
  paused: 'LiveMigrate',
  stopped: 'ColdMigrate',
  failed: 'Wait',
  localDisk: 'Migrate',
};

/** Desired state of a node's hypervisor: to be empty. */
export type DesiredHostState = {
  /** Text for Nova's `disabled_reason`: the maintenance's name and its reason, for people. */
  readonly why: string;
  readonly policy: ServerPolicy;
};

/** View on the hypervisor of a node. */
export type HostView = {
  /** Every VM that is on it, or was since the state was desired; sorted by name. */
  readonly vms: readonly VmStatus[];
  /**
   * True if new VMs are kept away, and none that has to leave is left. Set only from observations
   * after new VMs were kept away.
   */
  readonly empty: boolean;
  /**
   * Reason why it does not go on as a whole at the moment, for example an API that does not
   * respond.
   */
  readonly problem?: string;
  readonly expectedEnd?: Temporal.Instant;
};

/** Policy for the VMs of a node that an eviction does not move to another one. */
export type VmPolicy = {
  /**
   * Policy for VMs that are to be migrated and cannot be. Wait: until they can, or a person helps.
   * ShutDown: if they still cannot `shutDownAfterSeconds` after the drain began, their guests are
   * shut down. Refuse: nothing on the node is moved.
   */
  readonly notMigratable: 'Wait' | 'ShutDown' | 'Refuse';
  /**
   * Policy for VMs that an eviction shuts down, because of their strategy. Evict: follow the
   * strategy. Wait: until they are moved by other means.
   */
  readonly notMigrated: 'Evict' | 'Wait' | 'Refuse';
  readonly shutDownAfterSeconds: number;
  /** Seconds that a guest gets to shut down; the grace period of its VM if left out. */
  readonly shutDownGracePeriodSeconds?: number;
};

/** Policy with the behaviour of a plain eviction. */
export const plainVmPolicy: VmPolicy = {
  notMigratable: 'Wait',
  notMigrated: 'Evict',
  shutDownAfterSeconds: 0,
};

/** Returns when a VM that cannot move is shut down by the policy: now, later, or never. */
export function shutDownAt(
  vmPod: VmPod,
  { notMigratable, shutDownAfterSeconds }: VmPolicy,
  drainStartedAt: Temporal.Instant,
  now: Temporal.Instant,
): 'now' | Temporal.Instant | undefined {
  if (notMigratable !== 'ShutDown' || !isStranded(vmPod, now)) return undefined;
  const at = secondsAfter(drainStartedAt, shutDownAfterSeconds);
  return isBefore(now, at) ? at : 'now';
}
