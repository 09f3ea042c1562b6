import type { EvictionMethod } from '../core/drain/outcome/retry.ts';
import type { DesiredHostState, HostView } from '../core/vm/host.ts';
import type { KubeEvent } from '../core/write.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { PanicHandler } from '../support/panic-handler.ts';

/**
 * Interfaces that the operator needs from the outside. The real API server, the embedded one and
 * tests implement them.
 */

/** A call to an API server. The body is JSON by the time it is sent. */
export type ApiCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path without the server, for example `/api/v1/nodes/n1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Content type of the body; `application/json` if left out. Patches set theirs. */
  readonly contentType?: string;
  /** Accepted type of the response; `application/json` if left out. */
  readonly accept?: string;
  /**
   * Priority: `vital` (leases, status) never queues behind `bulk` (evictions). `normal` if left
   * out.
   */
  readonly priority?: 'vital' | 'normal' | 'bulk';
  /** Milliseconds until the call times out; 30,000 if left out. */
  readonly timeoutMs?: number;
};

/**
 * Response of the server with any status code. The body is parsed if it is JSON, otherwise a
 * string.
 */
export type ApiResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
};

/** A client of one API server. */
export interface Api {
  /**
   * Resolves with the server's response, errors of the server included. Rejects with a
   * `ConnectionError` if there was none: see its `mayHaveHappened`. A call whose signal is aborted
   * rejects with the signal's reason.
   */
  call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse>;
}

/** Fields that every watched object has after projection. */
export type CachedObject = { readonly key: string; readonly uid: string; readonly resourceVersion: string };

/** A change of one object in a watched collection. */
export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'changed'; readonly object: T; readonly before: T }
  | { readonly type: 'removed'; readonly object: T };

/** A collection to follow. */
export type Collection = {
  /** Path, for example `/api/v1/pods`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** True for metadata only (PartialObjectMetadata). */
  readonly metadataOnly?: boolean;
  /**
   * True to begin at once with the server's watch cache, however old it is; the watch catches up
   * from there. A consistent first list waits until the cache has caught up, up to a tenth of a
   * second. For small collections only: such a list comes in one page.
   */
  readonly beginWithCache?: boolean;
};

/**
 * The contents of a collection at one version: older objects that are not in it will not be
 * delivered any more.
 */
export type CompleteList = { readonly keys: ReadonlySet<string>; readonly version: string };

/**
 * Callbacks for a followed collection. Calls come in order and never overlap; a callback that
 * throws is reported and does not stop the watch.
 */
export interface WatchHandler<T> {
  changed(change: Change<T>): void;
  /** Receives the end of the first complete list. Called once. */
  synced(): void;
  /**
   * Receives a complete list after its changes, the first one or a later one; the first one before
   * `synced`. After a refusal (403, 404) there is always one. Every Watcher calls it.
   */
  listed?(list: CompleteList): void;
  /**
   * Receives a failure to read the collection; it is retried after `retryInMs`. `status` is the
   * HTTP status if there was one.
   */
  failing?(problem: { readonly message: string; readonly status?: number; readonly retryInMs: number }): void;
}

/** A source of watches. */
export interface Watcher {
  /**
   * Lists and watches until the signal is aborted, through every kind of failure; resolves then.
   * `project` reads the needed fields of each object; it returns undefined for objects to leave
   * out.
   */
  watch<T extends CachedObject>(
    collection: Collection,
    project: (raw: unknown) => T | undefined,
    handler: WatchHandler<T>,
    signal: AbortSignal,
  ): Promise<void>;
}

/** An event for `kubectl describe` and `kubectl get events`. */
export type { KubeEvent };

/**
 * A recorder of events that never delays the work: failures are logged, repeated events counted.
 */
export interface Recorder {
  record(event: KubeEvent): void;
}

/**
 * A fence that reports whether this process may act at this very moment. A leader that could not
 * renew its lease in time may not.
 */
export interface Fence {
  mayAct(): boolean;
}

/** A meter that counts events for metrics. */
export interface Meter {
  /**
   * Counts the response to an eviction (or deletion); `outcome` is one of the classifier's words.
   */
  evicted(method: EvictionMethod, outcome: string, seconds: number): void;
  wrote(store: string, result: 'stored' | 'conflict' | 'refused'): void;
  /** Counts a pass of a node. */
  decided(seconds: number): void;
  /** Counts a defect: an unexpected throw that a loop, or a watch, has caught. */
  panicked(controller: string): void;
}

/** Ports that every loop needs. */
export type Ports = {
  readonly api: Api;
  readonly watcher: Watcher;
  readonly recorder: Recorder;
  readonly meter: Meter;
  readonly fence: Fence;
  readonly clock: Clock;
  readonly log: Log;
  readonly defects: PanicHandler;
};

/** Meter that counts nothing, for callers without metrics. */
export const noMeter: Meter = { evicted: () => {}, wrote: () => {}, decided: () => {}, panicked: () => {} };

/** Counts of the operator at one moment. */
export type Overview = {
  readonly maintenances: readonly { readonly kind: string; readonly state: string; readonly count: number }[];
  readonly heldNodes: number;
  readonly blockers: readonly { readonly cause: string; readonly count: number }[];
  /** VMs of the nodes that are worked on. */
  readonly vms: readonly { readonly platform: string; readonly state: string; readonly count: number }[];
  readonly planPhases: readonly { readonly plan: string; readonly phase: string }[];
  readonly planNodes: readonly { readonly plan: string; readonly state: string; readonly count: number }[];
  /** Plans with a deadline that have been forecast. */
  readonly planDeadlines: readonly { readonly plan: string; readonly isMissed: boolean }[];
  readonly evictionsUnderWay: number;
  readonly queueDepth: number;
  /** Collections that have not been read yet, or that are required and lack read permission. */
  readonly unsynced: readonly string[];
  /** Collections without read permission. */
  readonly withheld: readonly string[];
};

/** The nodes that are hypervisors, and the party that moves their VMs that are not pods. */
export interface Hypervisors {
  /**
   * Returns the view on a hypervisor. unknown: not found out yet. none: the node is no hypervisor.
   */
  of(nodeName: string): HostView | 'unknown' | 'none';
  /**
   * Sets whether the hypervisor is to be emptied; undefined if no request wants that any more.
   * Called at every pass of the node; the same state again changes nothing.
   */
  want(nodeName: string, desired: DesiredHostState | undefined): void;
}

/**
 * A series of an instant query, now. Its value is as in Prometheus: infinities and NaN included.
 */
export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number };

/** An alert that fires: its name, and the values of its other labels. */
export type FiringAlert = { readonly name: string; readonly about: readonly string[] };

/**
 * Result of a source of metrics or alerts, or why there is none, as text for the author of the
 * query.
 */
export type QueryResult<T> = { readonly value: T } | { readonly problem: string };

/**
 * Configured sources of metrics and alerts, by name. Each call is bounded in time, and rejects with
 * the signal's reason only.
 */
export interface Monitoring {
  /** Milliseconds between two evaluations of the same query. */
  readonly everyMs: number;
  /** Evaluates a PromQL expression now. */
  samples(source: string, query: string, signal: AbortSignal): Promise<QueryResult<readonly Sample[]>>;
  /**
   * Returns each firing alert that all of these matchers match, in Alertmanager's syntax, and that
   * is neither silenced nor inhibited.
   */
  firing(source: string, matchers: readonly string[], signal: AbortSignal): Promise<QueryResult<readonly FiringAlert[]>>;
}

/** A party that silences alerts about nodes. */
export interface AlertSilencer {
  /**
   * Silences alerts about these nodes where that is configured, and no others. Resolves with the
   * milliseconds until the next call. Failures are logged, and retried then.
   */
  silence(nodes: ReadonlySet<string>, signal: AbortSignal): Promise<number>;
}
