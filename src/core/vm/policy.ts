/** What is done about the VMs of a node that an eviction does not move to another one. */
export type VmPolicy = {
  /**
   * VMs that are to be migrated and cannot be. Wait: until they can, or somebody helps. ShutDown: when they still cannot `shutDownAfterSeconds`
   * after the drain began, their guests are shut down. Refuse: nothing on the node is moved.
   */
  readonly notMigratable: 'Wait' | 'ShutDown' | 'Refuse';
  /** VMs that an eviction shuts down, because their strategy says so. Evict: as it says. Wait: not before somebody moves them. */
  readonly notMigrated: 'Evict' | 'Wait' | 'Refuse';
  readonly shutDownAfterSeconds: number;
  /** Seconds that a guest gets to shut down; what its VM asks for when left out. */
  readonly shutDownGracePeriodSeconds?: number;
};

/** What everybody does who evicts pods. */
export const plainVmPolicy: VmPolicy = { notMigratable: 'Wait', notMigrated: 'Evict', shutDownAfterSeconds: 0 };
