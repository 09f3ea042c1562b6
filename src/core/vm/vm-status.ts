/** How a VM that has to leave a node stands. */
export type VmState =
  /** Its turn has not come yet. */
  | 'Waiting'
  | 'Migrating'
  /** It runs on another node. */
  | 'Moved'
  /** It was shut down, because it could not be moved or was not meant to be; whoever runs it may start it again elsewhere. */
  | 'Stopped'
  /** It cannot move unless somebody helps. */
  | 'Cannot'
  /** It stays where it is, because the policy says so. */
  | 'Left';

/** One VM that is or was on a node, whoever runs it. */
export type VmStatus = {
  readonly platform: 'KubeVirt' | 'OpenStack';
  /** Unique: uid of the VMI, UUID of the server. */
  readonly id: string;
  /** For people: `namespace/name` of the VMI, name of the server. */
  readonly name: string;
  readonly state: VmState;
  /** What is going on, or why it cannot move, in the platform's own words where it has some. */
  readonly message?: string;
  /** What would help, for `Cannot`. */
  readonly remedy?: string;
  /** Percent, where the platform tells it. */
  readonly progress?: number;
  /** Where it goes or went. */
  readonly target?: string;
  /** Since when it is in this state, as far as that is known. */
  readonly since?: Temporal.Instant;
};

/** It does not keep its node any more. */
export const hasGone = ({ state }: Pick<VmStatus, 'state'>): boolean => state === 'Moved' || state === 'Left' || state === 'Stopped';

/** It moves, or will when it has its turn, without anybody's help. */
export const isOnItsWay = ({ state }: Pick<VmStatus, 'state'>): boolean => state === 'Waiting' || state === 'Migrating';

/** How many there are, in all and in each state. */
export type VmCounts = Readonly<Record<'total' | 'waiting' | 'migrating' | 'moved' | 'stopped' | 'cannot' | 'left', number>>;

/** Counts them; `before` are those that have left and are not among them any more. */
export const countVms = (vms: readonly VmStatus[], before = { moved: 0, stopped: 0 }): VmCounts => {
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
};
