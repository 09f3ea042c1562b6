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
