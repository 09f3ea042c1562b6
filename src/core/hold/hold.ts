import { type JsonObject, sameJson } from '../json.ts';
import type { Marks } from '../node/marks.ts';
import { beforeAnnotation, type Node, type Taint, taintId } from '../node/node.ts';
import { emptyRecord, type HoldRecord, isEmpty, readHoldRecord, writeHoldRecord } from './hold-record.ts';

/** How a node has to be changed so that it is held as wanted. */
export type HoldChange = {
  /** Merge patch, guarded by the node's resourceVersion: cordon, taints, labels and the record in one write. */
  readonly patch: JsonObject;
  /** The node becomes schedulable by it. */
  readonly uncordons: boolean;
  /** What was set before and has been taken away by somebody: it is put back. For people, sorted. */
  readonly lost: readonly string[];
};

/** All that several maintenances want on one node. A label wanted twice has the value of the first. */
export const unionMarks = (all: readonly Marks[]): Marks => {
  const taints = new Map<string, Taint>();
  const labels: Record<string, string> = {};
  for (const marks of all) {
    for (const taint of marks.taints) if (!taints.has(taintId(taint))) taints.set(taintId(taint), taint);
    for (const [key, value] of Object.entries(marks.labels)) labels[key] ??= value;
  }
  return { unschedulable: all.some(({ unschedulable }) => unschedulable), taints: [...taints.values()], labels };
};

const findTaint = (taints: readonly Taint[], id: string): Taint | undefined => taints.find(taint => taintId(taint) === id);

/** The record after the change: what is newly touched goes in as it stands now, what is let go goes out. */
const nextHoldRecord = (node: Node, holdRecord: HoldRecord, wanted: Marks, kinds: readonly string[]): HoldRecord => {
  const taints = wanted.taints.map(taint => {
    const id = taintId(taint);
    const old = holdRecord.taints[id];
    return [id, old === undefined ? (findTaint(node.taints, id) ?? null) : old] as const;
  });
  const labels = Object.keys(wanted.labels).map(key => {
    const old = holdRecord.labels[key];
    return [key, old === undefined ? (node.labels[key] ?? null) : old] as const;
  });
  return {
    ...(wanted.unschedulable && { unschedulable: holdRecord.unschedulable ?? node.unschedulable }),
    taints: Object.fromEntries(taints),
    labels: Object.fromEntries(labels),
    kinds,
  };
};

/** Wanted taints first, then the node's own in their order (seed contract 3.4), with what was there before restored in place. */
const nextTaints = (node: Node, holdRecord: HoldRecord, wanted: Marks): readonly Taint[] => {
  const wantedIds = new Set(wanted.taints.map(taintId));
  const added = wanted.taints.filter(taint => findTaint(node.taints, taintId(taint)) === undefined);
  const kept = node.taints.filter(taint => {
    const id = taintId(taint);
    return wantedIds.has(id) || holdRecord.taints[id] !== null;
  });
  const restored = Object.entries(holdRecord.taints).flatMap(([id, old]) =>
    old === null || wantedIds.has(id) || findTaint(node.taints, id) !== undefined ? [] : [old],
  );
  return [...added, ...kept, ...restored];
};

const nextLabels = (node: Node, holdRecord: HoldRecord, wanted: Marks): Record<string, string | null> => {
  const labels: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted.labels)) if (node.labels[key] !== value) labels[key] = value;
  for (const [key, old] of Object.entries(holdRecord.labels)) {
    if (wanted.labels[key] === undefined && (node.labels[key] ?? null) !== old) labels[key] = old;
  }
  return labels;
};

const nextUnschedulable = (node: Node, holdRecord: HoldRecord, wanted: Marks): boolean =>
  wanted.unschedulable || (holdRecord.unschedulable === undefined ? node.unschedulable : holdRecord.unschedulable);

/** Set by an earlier hold and missing now. */
const lostMarks = (node: Node, holdRecord: HoldRecord, wanted: Marks): readonly string[] => [
  ...(wanted.unschedulable && holdRecord.unschedulable !== undefined && !node.unschedulable ? ['the cordon'] : []),
  ...wanted.taints
    .filter(taint => holdRecord.taints[taintId(taint)] !== undefined && findTaint(node.taints, taintId(taint)) === undefined)
    .map(taint => `the taint ${taintId(taint)}`)
    .sort(),
  ...Object.entries(wanted.labels)
    .filter(([key, value]) => holdRecord.labels[key] !== undefined && node.labels[key] !== value)
    .map(([key]) => `the label ${key}`)
    .sort(),
];

/** For whom the marks are put on. */
type Holders = {
  /** All that any served kind can put on a node: nothing else is taken off or put back, whatever the record says. */
  readonly marks: Marks;
  /** Names of their kinds, for the record. */
  readonly kinds?: readonly string[];
  /** The record to start from when the node has none: that of a node held by the operator before us. */
  readonly assumed?: HoldRecord;
};

/** The write that takes the record off and touches nothing else. */
export const discardRecordChange = (node: Node): HoldChange => ({
  patch: { metadata: { resourceVersion: node.resourceVersion, annotations: { [beforeAnnotation]: null } } },
  uncordons: false,
  lost: [],
});

/**
 * The one write that makes the node carry exactly the wanted marks beside what is not ours; undefined when it does already. Holding,
 * guarding, letting one of several maintenances go and giving the node back are all this function.
 */
export const holdChange = (node: Node, wanted: Marks, { marks, kinds = [], assumed = emptyRecord }: Holders): HoldChange | undefined => {
  const stored = readHoldRecord(node.holdRecord, marks);
  const holdRecord = stored ?? assumed;
  const record = nextHoldRecord(node, holdRecord, wanted, kinds);
  const recordText = isEmpty(record) ? undefined : writeHoldRecord(record);
  const taints = nextTaints(node, holdRecord, wanted);
  const labels = nextLabels(node, holdRecord, wanted);
  const unschedulable = nextUnschedulable(node, holdRecord, wanted);
  const metadata: Record<string, JsonObject> = {
    ...(recordText !== node.holdRecord && { annotations: { [beforeAnnotation]: recordText ?? null } }),
    ...(Object.keys(labels).length > 0 && { labels }),
  };
  const spec: JsonObject = {
    ...(unschedulable !== node.unschedulable && { unschedulable: unschedulable ? true : null }),
    ...(!sameJson([...taints], [...node.taints]) && { taints: taints.length === 0 ? null : [...taints] }),
  };
  if (Object.keys(metadata).length === 0 && Object.keys(spec).length === 0) return undefined;
  return {
    patch: {
      metadata: { resourceVersion: node.resourceVersion, ...metadata },
      ...(Object.keys(spec).length > 0 && { spec }),
    },
    uncordons: node.unschedulable && !unschedulable,
    lost: stored === undefined ? [] : lostMarks(node, holdRecord, wanted),
  };
};

/** The record that an operator without one leaves: it took for granted that nothing of its marks was there (seed contract, M5). */
export const inferredRecord = (wanted: Marks): HoldRecord => ({
  ...(wanted.unschedulable && { unschedulable: false }),
  taints: Object.fromEntries(wanted.taints.map(taint => [taintId(taint), null])),
  labels: Object.fromEntries(Object.keys(wanted.labels).map(key => [key, null])),
});
