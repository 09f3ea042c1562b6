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
export type VmStanding = {
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
