import {
  isObject,
  type Json,
  type JsonObject,
  readTime,
  timeText,
  truncate,
} from '@drydock/apimachinery';
import type { PodTask } from '../pods/hook.ts';

/** Rehearsals of a plan: a pod plays the plan on a copy of the cluster and reports how it ends. */

/** Forecasts that keep a run from its first node. */
export const rehearsalRefusals = ['MissesDeadline', 'BlockedNodes', 'Unfinished'] as const;
export type RehearsalRefusal = (typeof rehearsalRefusals)[number];

export type Rehearse = {
  /** True if no node begins before the plan has been rehearsed in its current form. */
  readonly required: boolean;
  /** Seconds between two rehearsals while the plan runs; missing: it is not repeated. */
  readonly everySeconds?: number;
  readonly refuse: readonly RehearsalRefusal[];
  readonly timeoutSeconds: number;
  /** Image of Drydock; the operator's own if left out. */
  readonly image?: string;
  /** Seconds that the work and a reboot take, if known. */
  readonly workSeconds?: number;
  readonly rebootSeconds?: number;
  /** Hash of the parts that change how the plan goes. */
  readonly specHash: string;
};

/**
 * Subject of a forecast: the forecast does not apply to another run, or to the plan after an edit.
 */
export type RehearsalSubject = { readonly runId: string; readonly specHash: string };

export const rehearsalStates = ['Running', 'Succeeded', 'Failed'] as const;

/** A rehearsal as it is stored: status.rehearsal. */
export type RehearsalTask = PodTask &
  RehearsalSubject & { readonly state: (typeof rehearsalStates)[number]; readonly attempt: number };

/** Forecast of the latest rehearsal: the contents of `drydock plan rehearse --summary-file`. */
export type RehearsalSummary = {
  /** Time at which the copy of the cluster was taken. */
  readonly snapshotTime: Temporal.Instant;
  /** True if every due node is done in the end, in every simulated run. */
  readonly finishes: boolean;
  /** Times by which half of the runs are over, and nine in ten; missing if none is. */
  readonly end?: Temporal.Instant;
  readonly latestEnd?: Temporal.Instant;
  /** Number of nodes that it begins with. */
  readonly nodes: number;
  /** Number of openings of the windows in which it begins with them. */
  readonly windows: number;
  readonly podsMoved: number;
  /** Number of these pods that are moved once more. */
  readonly podsMovedAgain: number;
  /** Nodes that it is not done with, and why; the first of `blockedNodes`. */
  readonly blocked: readonly { readonly node: string; readonly message: string }[];
  readonly blockedNodes: number;
  /** Workloads with the fewest ready pods. */
  readonly lowest: readonly {
    readonly workload: string;
    readonly ready: number;
    readonly replicas: number;
  }[];
  /** Names of the nodes to begin with, for `order.by: Cost`. */
  readonly firstNodes: readonly string[];
};

/** Forecast as it is stored: status.forecast. */
export type RehearsedForecast = RehearsalSummary &
  RehearsalSubject & {
    /** Time of the rehearsal by the operator's clock. */
    readonly rehearsedAt: Temporal.Instant;
    /** End according to the first rehearsal of the run. */
    readonly firstEnd?: Temporal.Instant;
  };

/**
 * The result of a rehearsal's pod: JSON in its termination message, which kubelet cuts at 4096
 * bytes (kubernetes.io, "Customizing the termination message").
 */

/** Maximum length in bytes. */
export const maxSummaryLength = 4096;

const maxBlocked = 10;
const maxLowest = 5;
export const maxFirstNodes = 20;
const maxMessageLength = 200;
const maxNameLength = 253;
const maxCounted = 1_000_000_000;

function listed(value: Json | undefined, most: number): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]).slice(0, most) : [];
}

function count(value: Json | undefined): number {
  return typeof value === 'number' && value >= 0 ? Math.min(Math.floor(value), maxCounted) : 0;
}

function words(value: Json | undefined, longest: number): string {
  return typeof value === 'string' ? truncate(value, longest) : '';
}

function blockedIn(value: Json | undefined): RehearsalSummary['blocked'] {
  return listed(value, maxBlocked)
    .filter(isObject)
    .map(one => ({
      node: words(one['node'], maxNameLength),
      message: words(one['message'], maxMessageLength),
    }));
}

function lowestIn(value: Json | undefined): RehearsalSummary['lowest'] {
  return listed(value, maxLowest)
    .filter(isObject)
    .map(one => ({
      workload: words(one['workload'], 2 * maxNameLength),
      ready: count(one['ready']),
      replicas: count(one['replicas']),
    }));
}

function parsed(text: string): JsonObject | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Reads a summary, also from status.forecast, with every field bounded, regardless of its author.
 * Undefined: it is not a summary.
 */
export function summaryIn(raw: JsonObject): RehearsalSummary | undefined {
  const snapshotTime = readTime(raw['snapshotTime']);
  if (snapshotTime === undefined || typeof raw['finishes'] !== 'boolean') return undefined;
  const [end, latestEnd] = [
    readTime(raw['estimatedCompletionTime']),
    readTime(raw['latestCompletionTime']),
  ];
  const firstNodes = listed(raw['firstNodes'], maxFirstNodes).flatMap(one =>
    typeof one === 'string' ? words(one, maxNameLength) : [],
  );
  return {
    snapshotTime,
    finishes: raw['finishes'],
    ...(end && { end }),
    ...(latestEnd && { latestEnd }),
    nodes: count(raw['nodes']),
    windows: count(raw['windows']),
    podsMoved: count(raw['podsMoved']),
    podsMovedAgain: count(raw['podsMovedAgain']),
    blocked: blockedIn(raw['blocked']),
    blockedNodes: count(raw['blockedNodes']),
    lowest: lowestIn(raw['lowest']),
    firstNodes,
  };
}

/** Reads the termination message of a rehearsal's pod. Undefined if it is not a summary. */
export function readSummary(text: string): RehearsalSummary | undefined {
  const raw = text.length > maxSummaryLength ? undefined : parsed(text);
  return raw && summaryIn(raw);
}

/**
 * Returns the JSON of the fields, in the pod's result and in status.forecast. Times are whole
 * seconds, UTC.
 */
export function summaryJson({
  snapshotTime,
  finishes,
  end,
  latestEnd,
  ...rest
}: RehearsalSummary): JsonObject {
  const { nodes, windows, podsMoved, podsMovedAgain, blocked, blockedNodes, lowest, firstNodes } =
    rest;
  return {
    snapshotTime: timeText(snapshotTime),
    finishes,
    ...(end && { estimatedCompletionTime: timeText(end) }),
    ...(latestEnd && { latestCompletionTime: timeText(latestEnd) }),
    nodes,
    windows,
    podsMoved,
    podsMovedAgain,
    blocked: blocked
      .slice(0, maxBlocked)
      .map(({ node, message }) => ({ node, message: truncate(message, maxMessageLength) })),
    blockedNodes,
    lowest: lowest
      .slice(0, maxLowest)
      .map(({ workload, ready, replicas }) => ({ workload, ready, replicas })),
    firstNodes: firstNodes.slice(0, maxFirstNodes),
  };
}

/** Escapes a text to ASCII, so that characters are bytes. */
function ascii(text: string): string {
  return text.replace(
    /[\u0080-\uffff]/g,
    one => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function half<T>(all: readonly T[]): readonly T[] {
  return all.slice(0, Math.floor(all.length / 2));
}

/** Returns the result of a rehearsal's pod, with as much of its lists as fits. */
export function summaryText(summary: RehearsalSummary): string {
  const text = ascii(JSON.stringify(summaryJson(summary)));
  if (text.length <= maxSummaryLength) return text;
  const [blocked, lowest] = [
    summary.blocked.slice(0, maxBlocked),
    summary.lowest.slice(0, maxLowest),
  ];
  return summaryText({
    ...summary,
    blocked: half(blocked),
    lowest: half(lowest),
    firstNodes: half(summary.firstNodes.slice(0, maxFirstNodes)),
  });
}
