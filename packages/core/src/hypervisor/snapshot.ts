import type { DesiredHostState, HostView } from '../vm/host.ts';
import type { Marker } from './mark.ts';
import type { ComputeService, NovaServer, ServerMigration } from './server.ts';

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
