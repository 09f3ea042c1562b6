import {
  isObject,
  type Json,
  type JsonObject,
  readTime,
  timeText,
  truncate,
} from '@drydock/apimachinery';
import type { RehearsalSummary } from './rehearsal.ts';

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
