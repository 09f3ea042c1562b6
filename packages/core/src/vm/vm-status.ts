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
