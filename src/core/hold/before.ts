import { isObject, type JsonObject } from '../json.ts';
import type { Taint } from './node.ts';

/** What was on the node before the hold, for each thing that the hold has touched. null: it was not there. */
export type Before = {
  readonly unschedulable?: boolean;
  /** By `key:effect`. */
  readonly taints: Readonly<Record<string, Taint | null>>;
  readonly labels: Readonly<Record<string, string | null>>;
  /** Names of the kinds whose maintenances hold the node. */
  readonly kinds?: readonly string[];
};

export const nothingBefore: Before = { taints: {}, labels: {} };

/** Taints are the same when key and effect are; the value does not count (Kubernetes: MatchTaint). */
export const taintId = ({ key, effect }: Taint): string => `${key}:${effect}`;

/**
 * Reads the record. An unreadable one (edited by hand) counts as empty: what stands on the node at that moment is then taken for what was
 * there before, so that nothing of somebody else's is removed.
 */
export const readBefore = (text: string | undefined): Before | undefined => {
  if (text === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(text);
    if (!isObject(parsed)) return nothingBefore;
    const { unschedulable } = parsed;
    return {
      ...(typeof unschedulable === 'boolean' && { unschedulable }),
      taints: (isObject(parsed['taints']) ? parsed['taints'] : {}) as Before['taints'],
      labels: (isObject(parsed['labels']) ? parsed['labels'] : {}) as Before['labels'],
      ...(Array.isArray(parsed['kinds']) && { kinds: parsed['kinds'].filter(kind => typeof kind === 'string') }),
    };
  } catch {
    return nothingBefore;
  }
};

const sorted = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));

/** The record as it is stored: the same content always gives the same text. */
export const writeBefore = ({ unschedulable, taints, labels, kinds = [] }: Before): string =>
  JSON.stringify({
    ...(unschedulable !== undefined && { unschedulable }),
    taints: sorted(taints),
    labels: sorted(labels),
    ...(kinds.length > 0 && { kinds: [...new Set(kinds)].sort() }),
  } satisfies JsonObject);

/** The record says nothing any more: nothing of ours is on the node. */
export const isEmpty = ({ unschedulable, taints, labels }: Before): boolean =>
  unschedulable === undefined && Object.keys(taints).length === 0 && Object.keys(labels).length === 0;

/** Kubernetes itself puts it on every cordoned node, so it does not tell who holds it. */
const ofEveryCordon = 'node.kubernetes.io/unschedulable:NoSchedule';

/**
 * The marks that only a hold of ours can have left are all gone, although the record is there: somebody has given the node back without
 * it, as the operator does that it was moved back to.
 */
export const isOutdated = (before: Before, taints: readonly Taint[]): boolean => {
  const ours = Object.entries(before.taints).flatMap(([id, old]) => (old === null && id !== ofEveryCordon ? [id] : []));
  const present = new Set(taints.map(taintId));
  return ours.length > 0 && !ours.some(id => present.has(id));
};
