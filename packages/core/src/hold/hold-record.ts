import { isObject, type JsonObject, readTime, timeText } from '@drydock/apimachinery';
import type { Marks } from '../node/marks.ts';
import { conditionOf, type Node, type Taint, taintId, transitionTimeOf } from '../node/node.ts';

/**
 * State of the node before the hold, for each part that the hold has changed. null: the part did
 * not exist.
 */
export type HoldRecord = {
  readonly unschedulable?: boolean;
  /** Taints by `key:effect`. */
  readonly taints: Readonly<Record<string, Taint | null>>;
  readonly labels: Readonly<Record<string, string | null>>;
  /** Names of the kinds whose maintenances hold the node. */
  readonly kinds?: readonly string[];
};

export const emptyRecord: HoldRecord = { taints: {}, labels: {} };

/** Characters of a record that are read; ours have about a hundred. */
const maxRecordLength = 16_384;

function parsed(text: string | undefined): JsonObject | undefined {
  if (text === undefined) return undefined;
  try {
    const record: unknown = text.length > maxRecordLength ? undefined : JSON.parse(text);
    return isObject(record) ? record : {};
  } catch {
    return {};
  }
}

/**
 * Reports whether this is a valid value of labels and of taints (apimachinery: IsValidLabelValue).
 */
function isValue(value: unknown): value is string {
  return (
    typeof value === 'string' && /^(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?$/.test(value)
  );
}

/**
 * Returns the recorded taint for this mark; undefined for anything except that very taint, or null.
 */
function taintOf(raw: unknown, mark: Taint): Taint | null | undefined {
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
}

function known<T>(pairs: readonly (readonly [string, T | undefined])[]): Record<string, T> {
  return Object.fromEntries(
    pairs.filter((pair): pair is readonly [string, T] => pair[1] !== undefined),
  );
}

/** Returns the names of the kinds that hold the node, according to the record. */
export function holdersIn(text: string | undefined): readonly string[] {
  const kinds = parsed(text)?.['kinds'];
  return Array.isArray(kinds) ? kinds.filter(kind => typeof kind === 'string') : [];
}

/** Returns the taints that holds have changed, by `key:effect`, according to the record. */
export function taintsIn(text: string | undefined): readonly string[] {
  const taints = parsed(text)?.['taints'];
  return isObject(taints) ? Object.keys(taints) : [];
}

/**
 * Reads the record. It is an annotation, which the kubelet of the node may write as well, but a
 * kubelet may change neither taints nor protected labels: so only parts that a served kind could
 * have changed (`marks`) are read, and of those only values that could have existed. A record that
 * is unreadable, or was edited by hand, counts as empty: the present state of the node then counts
 * as the state before, so that nothing of others is removed.
 */
export function readHoldRecord(
  text: string | undefined,
  marks: Pick<Marks, 'taints' | 'labels'>,
): HoldRecord | undefined {
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
    taints: known(
      marks.taints.map(
        mark =>
          [
            taintId(mark),
            isObject(taints) ? taintOf(taints[taintId(mark)], mark) : undefined,
          ] as const,
      ),
    ),
    labels: known(Object.keys(marks.labels).map(key => [key, labelOf(key)] as const)),
    ...(kinds.length > 0 && { kinds }),
  };
}

function sorted<T>(record: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(
    Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

/** Returns the record as it is stored: the same content always gives the same text. */
export function writeHoldRecord({ unschedulable, taints, labels, kinds = [] }: HoldRecord): string {
  return JSON.stringify({
    ...(unschedulable !== undefined && { unschedulable }),
    taints: sorted(taints),
    labels: sorted(labels),
    ...(kinds.length > 0 && { kinds: [...new Set(kinds)].sort() }),
  } satisfies JsonObject);
}

/** Reports whether the record is empty: nothing of ours is on the node. */
export function isEmpty({ unschedulable, taints, labels }: HoldRecord): boolean {
  return (
    unschedulable === undefined &&
    Object.keys(taints).length === 0 &&
    Object.keys(labels).length === 0
  );
}

/**
 * Taint that Kubernetes itself sets on every cordoned node, so it does not show who holds the node.
 */
const ofEveryCordon = 'node.kubernetes.io/unschedulable:NoSchedule';

/**
 * Reports whether the marks that only our hold can have left are all gone, although the record
 * exists: another actor has released the node without it, for example an older operator after a
 * downgrade.
 */
export function isOutdated(holdRecord: HoldRecord, taints: readonly Taint[]): boolean {
  const ours = Object.entries(holdRecord.taints).flatMap(([id, old]) =>
    old === null && id !== ofEveryCordon ? [id] : [],
  );
  const present = new Set(taints.map(taintId));
  return ours.length > 0 && !ours.some(id => present.has(id));
}

/** Condition types of KEP-5683 that a maintenance sets. */
const lifecycleConditions = [
  'DrainInProgress',
  'Drained',
  'MaintenancePlanned',
  'MaintenanceInProgress',
] as const;

type LifecycleCondition = (typeof lifecycleConditions)[number];

/** Wanted conditions; a type that is left out is to be absent. */
export type WantedConditions = Partial<
  Readonly<
    Record<
      LifecycleCondition,
      { readonly status: 'True' | 'False'; readonly reason: string; readonly message: string }
    >
  >
>;

/** Prefix of all our reasons: a condition with another reason belongs to another actor. */
const ourReason = 'Drydock';

function isOurs(node: Node, type: LifecycleCondition): boolean {
  return conditionOf(node, type)?.reason.startsWith(ourReason) === true;
}

/**
 * Reports whether the condition is True with a foreign reason: it belongs to another actor
 * (KEP-5683 defines no ownership) and is left alone. Everything else may be written: the node
 * controller turns conditions to Unknown, the kubelet resets them when it starts.
 */
function isForeign(node: Node, type: LifecycleCondition): boolean {
  return conditionOf(node, type)?.status === 'True' && !isOurs(node, type);
}

/** Reports whether a maintenance has left a condition on the node. */
export function hasLifecycleConditions(node: Node): boolean {
  return lifecycleConditions.some(type => isOurs(node, type));
}

/**
 * Returns the strategic merge patch of `nodes/status` that sets the wanted conditions and removes
 * our others; undefined if the node has them already. Only these four types are in it, so that a
 * kubelet that writes its own at the same time loses nothing.
 */
export function conditionsPatch(
  node: Node,
  wanted: WantedConditions,
  now: Temporal.Instant,
): JsonObject | undefined {
  const conditions: JsonObject[] = [];
  for (const type of lifecycleConditions) {
    if (isForeign(node, type)) continue;
    const stored = conditionOf(node, type);
    const want = wanted[type];
    if (want === undefined) {
      if (isOurs(node, type)) conditions.push({ type, $patch: 'delete' });
      continue;
    }
    if (
      stored?.status === want.status &&
      stored.reason === want.reason &&
      stored.message === want.message
    )
      continue;
    const kept = stored?.status === want.status ? transitionTimeOf(stored) : undefined;
    conditions.push({
      type,
      ...want,
      lastHeartbeatTime: timeText(now),
      lastTransitionTime: timeText(kept ?? now),
    });
  }
  return conditions.length === 0 ? undefined : { status: { conditions } };
}
