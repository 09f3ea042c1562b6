/** Servers, compute services and migrations as Nova reports them, with its own words for states. */

/** A virtual machine of OpenStack. */
export type NovaServer = {
  readonly id: string;
  readonly name: string;
  /** Status for people: ACTIVE, SHUTOFF, VERIFY_RESIZE… */
  readonly status: string;
  /** State: active, paused, stopped, error, resized, suspended, rescued, shelved, building… */
  readonly vmState: string;
  /** Task that Nova is carrying out at the moment; undefined: none. */
  readonly taskState?: string;
  /** Compute service that has it. */
  readonly host?: string;
  readonly memoryMiB?: number;
  /** Time of Nova's last write to it, by Nova's clock. */
  readonly updated?: Temporal.Instant;
  /** True if its root disk is a volume, so that nothing of it is on the host's own disks. */
  readonly isVolumeBacked: boolean;
};

/** A `nova-compute` service, which Nova calls a host. */
export type ComputeService = {
  /** UUID of the service. */
  readonly id: string;
  readonly host: string;
  readonly isEnabled: boolean;
  readonly isUp: boolean;
  /** Reason why it is disabled, as its author wrote it. */
  readonly disabledReason?: string;
};

/** A record of a migration; it vanishes with its server. */
export type ServerMigration = {
  readonly id: number;
  readonly server: string;
  /** Type: `migration` is a cold one, `resize` one with another flavor. */
  readonly type: string;
  /**
   * Status: accepted, queued, preparing, running, post-migrating, finished, completed, confirmed,
   * error, cancelled…
   */
  readonly status: string;
  readonly source?: string;
  readonly target?: string;
  readonly created: Temporal.Instant;
  readonly updated: Temporal.Instant;
  /** User that requested it; reported by microversion 2.80 and later. */
  readonly user?: string;
};

const successes: ReadonlySet<string> = new Set(['completed', 'done', 'confirmed']);
const failures: ReadonlySet<string> = new Set(['error', 'failed', 'cancelled']);

export function hasSucceeded({ status }: ServerMigration): boolean {
  return successes.has(status);
}

/** Reports whether Nova gave it up, or a user aborted it. */
export function hasFailed({ status }: ServerMigration): boolean {
  return failures.has(status);
}

/** Reports whether it is not over; a cold migration that waits for its confirmation is not. */
export function isUnderWay(migration: ServerMigration): boolean {
  return !hasSucceeded(migration) && !hasFailed(migration) && migration.status !== 'reverted';
}

/**
 * Reports whether Nova has accepted it and does not work on it yet: Nova has a limit of its own for
 * each host.
 */
export function isQueued({ status }: ServerMigration): boolean {
  return status === 'accepted' || status === 'queued';
}

/**
 * Reports whether it copies the disks while the server does not run; it waits for a confirmation at
 * the end.
 */
export function isCold({ type }: ServerMigration): boolean {
  return type === 'migration';
}
