import type { EvictionMethod } from '@drydock/core/drain';
import type { Api, Fence, Recorder, Watcher } from '@drydock/kube-client';
import type { Clock, Log, PanicHandler } from '@drydock/utils';

/**
 * Interfaces that the operator needs beside an API server: meters, alerts and metrics.
 */

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
export const noMeter: Meter = {
  evicted: () => {},
  wrote: () => {},
  decided: () => {},
  panicked: () => {},
};

/** Counts of the operator at one moment. */
export type Overview = {
  readonly maintenances: readonly {
    readonly kind: string;
    readonly state: string;
    readonly count: number;
  }[];
  readonly heldNodes: number;
  readonly blockers: readonly { readonly reason: string; readonly count: number }[];
  /** VMs of the nodes that are worked on. */
  readonly vms: readonly {
    readonly platform: string;
    readonly state: string;
    readonly count: number;
  }[];
  readonly planPhases: readonly { readonly plan: string; readonly phase: string }[];
  readonly planNodes: readonly {
    readonly plan: string;
    readonly state: string;
    readonly count: number;
  }[];
  /** Plans with a deadline that have been forecast. */
  readonly planDeadlines: readonly { readonly plan: string; readonly isMissed: boolean }[];
  readonly evictionsUnderWay: number;
  readonly queueDepth: number;
  /** Collections that have not been read yet, or that are required and lack read permission. */
  readonly unsynced: readonly string[];
  /** Collections without read permission. */
  readonly withheld: readonly string[];
};

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
  samples(
    source: string,
    query: string,
    signal: AbortSignal,
  ): Promise<QueryResult<readonly Sample[]>>;
  /**
   * Returns each firing alert that all of these matchers match, in Alertmanager's syntax, and that
   * is neither silenced nor inhibited.
   */
  firing(
    source: string,
    matchers: readonly string[],
    signal: AbortSignal,
  ): Promise<QueryResult<readonly FiringAlert[]>>;
}

/** A party that silences alerts about nodes. */
export interface AlertSilencer {
  /**
   * Silences alerts about these nodes where that is configured, and no others. Resolves with the
   * milliseconds until the next call. Failures are logged, and retried then.
   */
  silence(nodes: ReadonlySet<string>, signal: AbortSignal): Promise<number>;
}
