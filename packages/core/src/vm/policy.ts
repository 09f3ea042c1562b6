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
