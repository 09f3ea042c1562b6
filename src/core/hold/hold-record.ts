import { isObject, type JsonObject } from '../json.ts';
import type { Marks } from '../node/marks.ts';
import { type Taint, taintId } from '../node/node.ts';
import { readTime } from '../time.ts';

/** What was on the node before the hold, for each thing that the hold has touched. null: it was not there. */
export type HoldRecord = {
  readonly unschedulable?: boolean;
  /** By `key:effect`. */
  readonly taints: Readonly<Record<string, Taint | null>>;
  readonly labels: Readonly<Record<string, string | null>>;
  /** Names of the kinds whose maintenances hold the node. */
  readonly kinds?: readonly string[];
};

export const emptyRecord: HoldRecord = { taints: {}, labels: {} };

/** Characters of a record that are read; ours have some hundred. */
const maxRecordLength = 16_384;

const parsed = (text: string | undefined): JsonObject | undefined => {
  if (text === undefined) return undefined;
  try {
    const record: unknown = text.length > maxRecordLength ? undefined : JSON.parse(text);
    return isObject(record) ? record : {};
  } catch {
    return {};
  }
};

/** Values of labels and of taints (apimachinery: IsValidLabelValue). */
const isValue = (value: unknown): value is string =>
  typeof value === 'string' && /^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$/.test(value);

/** The taint that the record tells for this mark; undefined for anything else than that very taint, or null. */
const taintOf = (raw: unknown, mark: Taint): Taint | null | undefined => {
  if (raw === null) return null;
  if (!isObject(raw) || raw['key'] !== mark.key || raw['effect'] !== mark.effect) return undefined;
  const { value, timeAdded } = raw;
  if (value !== undefined && !isValue(value)) return undefined;
  return {
    key: mark.key,
    effect: mark.effect,
    ...(value !== undefined && { value }),
    ...(typeof timeAdded === 'string' && readTime(timeAdded) !== undefined && { timeAdded }),
  };
};

const known = <T>(pairs: readonly (readonly [string, T | undefined])[]): Record<string, T> =>
  Object.fromEntries(pairs.filter((pair): pair is readonly [string, T] => pair[1] !== undefined));

/** Names of the kinds that hold the node, as the record says. */
export const holdersIn = (text: string | undefined): readonly string[] => {
  const kinds = parsed(text)?.['kinds'];
  return Array.isArray(kinds) ? kinds.filter(kind => typeof kind === 'string') : [];
};

/** The taints that holds have touched, by `key:effect`, as the record says. */
export const taintsIn = (text: string | undefined): readonly string[] => {
  const taints = parsed(text)?.['taints'];
  return isObject(taints) ? Object.keys(taints) : [];
};

/**
 * Reads the record. It is an annotation, which the kubelet of the node may write as well, but no taint and no protected label is a kubelet's to change: so only
 * what some served kind could have touched (`marks`) is read, and of that only what could have been there. An unreadable one, or one edited
 * by hand, counts as empty: what stands on the node at that moment is then taken for what was there before, so that nothing of somebody else's is
 * removed.
 */
export const readHoldRecord = (text: string | undefined, marks: Pick<Marks, 'taints' | 'labels'>): HoldRecord | undefined => {
  const record = parsed(text);
  if (record === undefined) return undefined;
  const { unschedulable, taints, labels } = record;
  const labelOf = (key: string): string | null | undefined => {
    const value = isObject(labels) && Object.hasOwn(labels, key) ? labels[key] : undefined;
    return value === null || isValue(value) ? value : undefined;
  };
  const kinds = holdersIn(text);
  return {
    ...(typeof unschedulable === 'boolean' && { unschedulable }),
    taints: known(marks.taints.map(mark => [taintId(mark), isObject(taints) ? taintOf(taints[taintId(mark)], mark) : undefined] as const)),
    labels: known(Object.keys(marks.labels).map(key => [key, labelOf(key)] as const)),
    ...(kinds.length > 0 && { kinds }),
  };
};

const sorted = <T>(record: Readonly<Record<string, T>>): Record<string, T> =>
  Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));

/** The record as it is stored: the same content always gives the same text. */
export const writeHoldRecord = ({ unschedulable, taints, labels, kinds = [] }: HoldRecord): string =>
  JSON.stringify({
    ...(unschedulable !== undefined && { unschedulable }),
    taints: sorted(taints),
    labels: sorted(labels),
    ...(kinds.length > 0 && { kinds: [...new Set(kinds)].sort() }),
  } satisfies JsonObject);

/** The record says nothing any more: nothing of ours is on the node. */
export const isEmpty = ({ unschedulable, taints, labels }: HoldRecord): boolean =>
  unschedulable === undefined && Object.keys(taints).length === 0 && Object.keys(labels).length === 0;

/** Kubernetes itself puts it on every cordoned node, so it does not tell who holds it. */
const ofEveryCordon = 'node.kubernetes.io/unschedulable:NoSchedule';

/**
 * The marks that only a hold of ours can have left are all gone, although the record is there: somebody has given the node back without
 * it, as the operator does that it was moved back to.
 */
export const isOutdated = (holdRecord: HoldRecord, taints: readonly Taint[]): boolean => {
  const ours = Object.entries(holdRecord.taints).flatMap(([id, old]) => (old === null && id !== ofEveryCordon ? [id] : []));
  const present = new Set(taints.map(taintId));
  return ours.length > 0 && !ours.some(id => present.has(id));
};
