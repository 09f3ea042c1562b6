import { readTime, secondsAfter, timeText } from '@drydock/apimachinery';
import type { DesiredHostState, HostView } from '../vm/vm-status.ts';

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

/**
 * Prefix of a service's `disabled_reason` if we disabled it. The operator that follows nodes
 * releases services that another replica took, also after a restart; a host that was emptied once,
 * by a command, is left to its user.
 */
export type Marker = 'drydock: ' | 'drydock nova: ';

/** Longest reason that Nova accepts. */
const maxLength = 255;

/**
 * Returns the reason with which we disable a service: for people, and for ourselves after a
 * restart. At most 255 characters.
 */
export function markOf(marker: Marker, why: string, now: Temporal.Instant): string {
  const since = ` (since ${timeText(now)})`;
  // Nova refuses unprintable characters.
  const text = why
    .replaceAll(/\p{C}+/gu, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
  return `${marker}${text.slice(0, maxLength - marker.length - since.length)}${since}`;
}

/** Reports whether we disabled it. */
export function isMarked(marker: Marker, reason: string | undefined): boolean {
  return reason?.startsWith(marker.trimEnd()) === true;
}

/** Seconds of difference between the clocks of two machines, and Nova's whole seconds. */
const slackSeconds = 5;

/**
 * Returns when we disabled it, rather a little early than late; undefined if the reason does not
 * contain the time.
 */
export function markedSince(
  marker: Marker,
  reason: string | undefined,
): Temporal.Instant | undefined {
  if (!isMarked(marker, reason)) return undefined;
  const since = readTime(/ \(since (\S+)\)$/.exec(reason ?? '')?.[1]);
  return since && secondsAfter(since, -slackSeconds);
}

/** An attempt that Nova refused at once, which leaves no trace there. */
export type NovaRefusal = {
  /** Number of refusals in a row; 0: it is unknown whether the call arrived. */
  readonly count: number;
  readonly at: Temporal.Instant;
  /** Message of Nova. */
  readonly message: string;
};

export type MigrationLimits = {
  /** Limit of migrations off one host that were requested and are not over. */
  readonly perHost: number;
  /** Limit over all hosts. */
  readonly total: number;
  /**
   * Limit of those that wait in Nova's own queue: enough that it always has a next one, and few
   * enough that a change of plans costs little.
   */
  readonly ahead: number;
};

export const defaultLimits: MigrationLimits = { perHost: 8, total: 32, ahead: 2 };

/** Everything known about one hypervisor at one moment. */
export type HostSnapshot = {
  /** Value of `host` of its service. */
  readonly host: string;
  readonly marker: Marker;
  readonly service: ComputeService;
  readonly desired: DesiredHostState | undefined;
  /**
   * Time at which this process first received the desired state: it counts if the service's reason
   * does not contain one.
   */
  readonly desiredSince: Temporal.Instant;
  /** Time before which failed attempts do not count, because the request was repeated. */
  readonly anewFrom?: Temporal.Instant;
  /** True if no maintenance holds the node any more. False as long as that is unknown. */
  readonly isReleased: boolean;
  /** Servers on the host, of all projects. */
  readonly servers: readonly NovaServer[];
  /** Servers that are elsewhere by now, with a record of a migration from here. */
  readonly elsewhere: readonly NovaServer[];
  /** Migrations from this host or to it. */
  readonly migrations: readonly ServerMigration[];
  /** Percentage by id of the server. */
  readonly progress: ReadonlyMap<string, number>;
  /** Reasons of failed migrations, by their id. */
  readonly reasons: ReadonlyMap<number, string>;
  /** Refusals by id of the server. */
  readonly refusals: ReadonlyMap<string, NovaRefusal>;
  /** Servers whose move this process has requested: they count if Nova does not report the user. */
  readonly asked: ReadonlySet<string>;
  /**
   * Times since when this process has seen a server in its present task, or in its present state
   * without one; by id of the server, by Nova's clock.
   */
  readonly seenSince: ReadonlyMap<string, Temporal.Instant>;
  /** Drydock's user in Nova. */
  readonly user: string | undefined;
  readonly limits: MigrationLimits;
  /** Number of migrations that may begin before the limit over all hosts is reached. */
  readonly free: number;
};

/** A call to Nova that changes something. */
export type HostCall =
  | { readonly kind: 'disable'; readonly reason: string }
  | { readonly kind: 'enable' }
  | { readonly kind: 'live-migrate'; readonly server: string }
  | { readonly kind: 'cold-migrate'; readonly server: string }
  | { readonly kind: 'confirm'; readonly server: string }
  | { readonly kind: 'abort'; readonly server: string; readonly migration: number };

export type HostDecision = {
  readonly calls: readonly HostCall[];
  readonly view: HostView;
  /**
   * Milliseconds until the next requests to Nova; undefined: nothing is wanted of this host any
   * more.
   */
  readonly againMs: number | undefined;
};
