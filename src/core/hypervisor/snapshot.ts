import type { DesiredHostState, HostView } from '../vm/host.ts';
import type { Marker } from './mark.ts';
import type { ComputeService, NovaServer, ServerMigration } from './server.ts';

/** An attempt that Nova refused at once, which leaves no trace there. */
export type NovaRefusal = {
  /** How many, one after the other; 0: nobody knows whether it arrived. */
  readonly count: number;
  readonly at: Temporal.Instant;
  /** Nova's own words. */
  readonly message: string;
};

export type MigrationLimits = {
  /** Migrations off one host that have been asked for and are not over, at the most. */
  readonly perHost: number;
  /** Over all hosts. */
  readonly total: number;
  /** Those that wait in Nova's own queue: enough that it always has a next one, so few that a change of mind costs little. */
  readonly ahead: number;
};

export const defaultLimits: MigrationLimits = { perHost: 8, total: 32, ahead: 2 };

/** Everything that is known of one hypervisor at one moment. */
export type HostSnapshot = {
  /** The `host` of its service. */
  readonly host: string;
  readonly marker: Marker;
  readonly service: ComputeService;
  readonly desired: DesiredHostState | undefined;
  /** When this process first received the desired state: counts where the service's reason does not say it. */
  readonly desiredSince: Temporal.Instant;
  /** Attempts that failed before this do not count: somebody has asked anew. */
  readonly anewFrom?: Temporal.Instant;
  /** Nobody holds the node any more. False as long as that is not known. */
  readonly isReleased: boolean;
  /** On the host, of all projects. */
  readonly servers: readonly NovaServer[];
  /** Elsewhere by now, with a record of a migration from here. */
  readonly elsewhere: readonly NovaServer[];
  /** From this host or to it. */
  readonly migrations: readonly ServerMigration[];
  /** Percent, by id of the server. */
  readonly progress: ReadonlyMap<string, number>;
  /** Why a migration failed, by its id. */
  readonly reasons: ReadonlyMap<number, string>;
  /** By id of the server. */
  readonly refusals: ReadonlyMap<string, NovaRefusal>;
  /** Servers that this process has asked to move: counts where Nova does not tell who asked. */
  readonly asked: ReadonlySet<string>;
  /** Since when this process has seen a server in the task, or the state without one, that it is in now; by id of the server, by Nova's clock. */
  readonly seenSince: ReadonlyMap<string, Temporal.Instant>;
  /** The user that Drydock is to Nova. */
  readonly user: string | undefined;
  readonly limits: MigrationLimits;
  /** Migrations that may begin before the limit over all hosts is reached. */
  readonly free: number;
};

/** One call to Nova that changes something. */
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
  /** Milliseconds until Nova is asked again; undefined: nothing is wanted of this host any more. */
  readonly againMs: number | undefined;
};
