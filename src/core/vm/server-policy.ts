/** What is done about the servers of an OpenStack hypervisor that is to be empty. */
export type ServerPolicy = {
  /** Active ones. */
  readonly active: 'LiveMigrate' | 'Leave';
  readonly paused: 'LiveMigrate' | 'Leave';
  /** Shut off ones: a cold migration does not start them. */
  readonly stopped: 'ColdMigrate' | 'Leave';
  /** Those in error, which Nova does not move. Wait: somebody has to mend or delete them before the host counts as empty. */
  readonly failed: 'Wait' | 'Leave';
  /** Those whose disks are on the host itself: Nova copies them, which may take long. */
  readonly localDisk: 'Migrate' | 'Leave';
};

export const defaultServerPolicy: ServerPolicy = {
  active: 'LiveMigrate',
  paused: 'LiveMigrate',
  stopped: 'ColdMigrate',
  failed: 'Wait',
  localDisk: 'Migrate',
};
