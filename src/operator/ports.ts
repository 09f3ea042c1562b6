import type { EvictionMethod } from '../core/drain/outcome/retry.ts';
import type { DesiredHostState, HostView } from '../core/vm/host.ts';
import type { KubeEvent } from '../core/write.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';
import type { PanicHandler } from '../support/panic-handler.ts';

/** What the operator needs from the outside. The real API server, the embedded one and a test each offer it. */

/** One call to an API server. The body is JSON by the time it is sent. */
export type ApiCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path without the server, for example `/api/v1/nodes/n1`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  readonly body?: unknown;
  /** Of the body; `application/json` when left out. Patches name theirs. */
  readonly contentType?: string;
  /** Of the answer; `application/json` when left out. */
  readonly accept?: string;
  /** Who waits for whom: `vital` (leases, status) never queues behind `bulk` (evictions). `normal` when left out. */
  readonly priority?: 'vital' | 'normal' | 'bulk';
  /** Milliseconds until the call is given up; 30,000 when left out. */
  readonly timeoutMs?: number;
};

/** What the server said, whatever the status code. The body is parsed when it is JSON, else a string. */
export type ApiResponse = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: unknown;
};

/** Speaks to one API server. */
export interface Api {
  /**
   * Resolves with the server's answer, errors of the server included. Rejects with a `ConnectionError` when there was none: see its
   * `mayHaveHappened`. A call whose signal is aborted rejects with the signal's reason.
   */
  call(call: ApiCall, signal?: AbortSignal): Promise<ApiResponse>;
}

/** What every watched object can say of itself after projection. */
export type CachedObject = { readonly key: string; readonly uid: string; readonly resourceVersion: string };

/** Something that happened to one object of a watched collection. */
export type Change<T> =
  | { readonly type: 'added'; readonly object: T }
  | { readonly type: 'changed'; readonly object: T; readonly before: T }
  | { readonly type: 'removed'; readonly object: T };

/** A collection to follow. */
export type Collection = {
  /** For example `/api/v1/pods`. */
  readonly path: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
  /** Ask for metadata only (PartialObjectMetadata). */
  readonly metadataOnly?: boolean;
  /**
   * Begin with what the server has in its cache, at once, however old it is; the watch catches up from there. A consistent first list waits
   * until the cache has caught up, up to a tenth of a second. For small collections only: such a list comes in one page.
   */
  readonly beginWithCache?: boolean;
};

/** What a collection held at one version: of what is older and not in it, nobody will tell any more. */
export type CompleteList = { readonly keys: ReadonlySet<string>; readonly version: string };

/** Who is told about a followed collection. Calls come in order and never overlap; one that throws is reported and does not stop the watch. */
export interface WatchHandler<T> {
  changed(change: Change<T>): void;
  /** The first complete list has been told. Called once. */
  synced(): void;
  /** A complete list has been told, the first one or a later one; of the first one before `synced`. After a refusal (403, 404) there is always one. Every Watcher tells it. */
  listed?(list: CompleteList): void;
  /** The collection cannot be read at the moment; it is tried again after `retryInMs`. `status` is the HTTP status where there was one. */
  failing?(problem: { readonly message: string; readonly status?: number; readonly retryInMs: number }): void;
}

/** Follows collections for as long as it is told to. */
export interface Watcher {
  /**
   * Lists and watches until the signal is aborted, through every kind of failure; resolves then. `project` keeps what is needed of each
   * object; it returns undefined for objects to leave out.
   */
  watch<T extends CachedObject>(
    collection: Collection,
    project: (raw: unknown) => T | undefined,
    handler: WatchHandler<T>,
    signal: AbortSignal,
  ): Promise<void>;
}

/** An event to be seen with `kubectl describe` and `kubectl get events`. */
export type { KubeEvent };

/** Records events without ever holding up the work: failures are logged, repeated ones counted. */
export interface Recorder {
  record(event: KubeEvent): void;
}

/** Whether this process may act at this very moment. A leader that could not renew in time may not. */
export interface Fence {
  mayAct(): boolean;
}

/** Counts what happens, for metrics. */
export interface Meter {
  /** An eviction (or deletion) has been answered; `outcome` is one of the classifier's words. */
  evicted(method: EvictionMethod, outcome: string, seconds: number): void;
  wrote(store: string, result: 'stored' | 'conflict' | 'refused'): void;
  /** A node has been looked at and decided on. */
  decided(seconds: number): void;
  /** A loop, or a watch, has caught a throw that nobody expected: a defect. */
  panicked(controller: string): void;
}

/** What every loop needs from the outside. */
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

/** Counts nothing: for whoever is asked for no metrics. */
export const noMeter: Meter = { evicted: () => {}, wrote: () => {}, decided: () => {}, panicked: () => {} };

/** What can be counted of the operator at one moment. */
export type Overview = {
  readonly maintenances: readonly { readonly kind: string; readonly state: string; readonly count: number }[];
  readonly heldNodes: number;
  readonly blockers: readonly { readonly cause: string; readonly count: number }[];
  /** Of the nodes that are worked on. */
  readonly vms: readonly { readonly platform: string; readonly state: string; readonly count: number }[];
  readonly planPhases: readonly { readonly plan: string; readonly phase: string }[];
  readonly planNodes: readonly { readonly plan: string; readonly state: string; readonly count: number }[];
  /** Of plans with a deadline that have been forecast. */
  readonly planDeadlines: readonly { readonly plan: string; readonly isMissed: boolean }[];
  readonly evictionsUnderWay: number;
  readonly queueDepth: number;
  /** Collections that have not been read yet, or may not be read although much depends on them. */
  readonly unsynced: readonly string[];
  /** Collections that may not be read. */
  readonly withheld: readonly string[];
};

/** The hypervisors that nodes are, and whoever moves the VMs on them that are no pods. */
export interface Hypervisors {
  /** unknown: it has not been found out yet. none: the node is no hypervisor. */
  of(nodeName: string): HostView | 'unknown' | 'none';
  /** It is to be empty, or nobody wants that any more. Told at every look at the node; the same state again changes nothing. */
  want(nodeName: string, desired: DesiredHostState | undefined): void;
}

/** One series of an instant query, now. Its value is as Prometheus has it: infinities and no number at all (NaN) too. */
export type Sample = { readonly labels: Readonly<Record<string, string>>; readonly value: number };

/** An alert that fires: its name, and the values of its other labels. */
export type FiringAlert = { readonly name: string; readonly about: readonly string[] };

/** What a source of metrics or alerts has said, or why nothing can be said, in words for whoever wrote the question. */
export type QueryResult<T> = { readonly value: T } | { readonly problem: string };

/** The sources of metrics and alerts that the operator has been given, by name. Each call is bounded in time, and rejects with the signal's reason only. */
export interface Monitoring {
  /** Milliseconds between two times that the same is asked. */
  readonly everyMs: number;
  /** Evaluates a PromQL expression now. */
  samples(source: string, query: string, signal: AbortSignal): Promise<QueryResult<readonly Sample[]>>;
  /** Each alert that all of these matchers match, as Alertmanager writes them, and that nobody has silenced or inhibited. */
  firing(source: string, matchers: readonly string[], signal: AbortSignal): Promise<QueryResult<readonly FiringAlert[]>>;
}

/** Whoever keeps alerts about nodes silent. */
export interface AlertSilencer {
  /**
   * Keeps alerts about these nodes silent where that is configured, and those about no others. The answer: milliseconds until it wants to be told again. What cannot be done is logged, and
   * tried again then.
   */
  silence(nodes: ReadonlySet<string>, signal: AbortSignal): Promise<number>;
}
