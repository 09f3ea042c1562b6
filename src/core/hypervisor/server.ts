/** Servers, compute services and migrations as Nova tells them, with its own words for states. */

/** One virtual machine of OpenStack. */
export type NovaServer = {
  readonly id: string;
  readonly name: string;
  /** For people: ACTIVE, SHUTOFF, VERIFY_RESIZE… */
  readonly status: string;
  /** What it is: active, paused, stopped, error, resized, suspended, rescued, shelved, building… */
  readonly vmState: string;
  /** What Nova is doing with it at the moment; undefined: nothing. */
  readonly taskState?: string;
  /** The compute service that has it. */
  readonly host?: string;
  readonly memoryMiB?: number;
  /** When Nova last wrote to it, by Nova's clock. */
  readonly updated?: Temporal.Instant;
  /** Its root disk is a volume, so that nothing of it is on the host's own disks. */
  readonly isVolumeBacked: boolean;
};

/** A `nova-compute` service: what Nova calls a host. */
export type ComputeService = {
  /** UUID. */
  readonly id: string;
  readonly host: string;
  readonly isEnabled: boolean;
  readonly isUp: boolean;
  /** Why it is disabled, as whoever disabled it wrote. */
  readonly disabledReason?: string;
};

/** A record of a migration; it vanishes with its server. */
export type ServerMigration = {
  readonly id: number;
  readonly server: string;
  /** `migration` is a cold one, `resize` one with another flavor. */
  readonly type: string;
  /** accepted, queued, preparing, running, post-migrating, finished, completed, confirmed, error, cancelled… */
  readonly status: string;
  readonly source?: string;
  readonly target?: string;
  readonly created: Temporal.Instant;
  readonly updated: Temporal.Instant;
  /** Who asked for it; told by microversion 2.80 and later. */
  readonly user?: string;
};

const successes: ReadonlySet<string> = new Set(['completed', 'done', 'confirmed']);
const failures: ReadonlySet<string> = new Set(['error', 'failed', 'cancelled']);

export const hasSucceeded = ({ status }: ServerMigration): boolean => successes.has(status);

/** Nova gave it up, or somebody aborted it. */
export const hasFailed = ({ status }: ServerMigration): boolean => failures.has(status);

/** Something is still to come of it; a cold migration that waits for its confirmation is one of them. */
export const isUnderWay = (migration: ServerMigration): boolean =>
  !hasSucceeded(migration) && !hasFailed(migration) && migration.status !== 'reverted';

/** Nova has accepted it and does not work on it yet: it has a limit of its own for each host. */
export const isQueued = ({ status }: ServerMigration): boolean => status === 'accepted' || status === 'queued';

/** Moved by copying its disks while it does not run; it waits for a confirmation at the end. */
export const isCold = ({ type }: ServerMigration): boolean => type === 'migration';
