import { type JsonObject, sameJson } from '@drydock/apimachinery';
import type { Marks } from '../node/marks.ts';
import { beforeAnnotation, type Node, type Taint, taintId } from '../node/node.ts';
import {
  emptyRecord,
  type HoldRecord,
  isEmpty,
  readHoldRecord,
  writeHoldRecord,
} from './hold-record.ts';

/** Change of a node that makes it held as wanted. */
export type HoldChange = {
  /**
   * Merge patch, guarded by the node's resourceVersion: cordon, taints, labels and the record in
   * one write.
   */
  readonly patch: JsonObject;
  /** True if the node becomes schedulable by it. */
  readonly uncordons: boolean;
  /**
   * Marks that were set before, have been removed by another actor, and are restored. For people,
   * sorted.
   */
  readonly lost: readonly string[];
};

/**
 * Returns everything that several maintenances want on one node. A label that is wanted twice has
 * the value of the first.
 */
export function unionMarks(all: readonly Marks[]): Marks {
  const taints = new Map<string, Taint>();
  const labels: Record<string, string> = {};
  for (const marks of all) {
    for (const taint of marks.taints)
      if (!taints.has(taintId(taint))) taints.set(taintId(taint), taint);
    for (const [key, value] of Object.entries(marks.labels)) labels[key] ??= value;
  }
  return {
    unschedulable: all.some(({ unschedulable }) => unschedulable),
    taints: [...taints.values()],
    labels,
  };
}

function findTaint(taints: readonly Taint[], id: string): Taint | undefined {
  return taints.find(taint => taintId(taint) === id);
}

/**
 * Returns the record after the change: newly changed parts are added with their present state,
 * released ones are removed.
 */
function nextHoldRecord(
  node: Node,
  holdRecord: HoldRecord,
  wanted: Marks,
  kinds: readonly string[],
): HoldRecord {
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
}

/**
 * Returns the wanted taints first, then the node's own in their order (seed contract 3.4), with the
 * taints from before restored in place.
 */
function nextTaints(node: Node, holdRecord: HoldRecord, wanted: Marks): readonly Taint[] {
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
}

function nextLabels(
  node: Node,
  holdRecord: HoldRecord,
  wanted: Marks,
): Record<string, string | null> {
  const labels: Record<string, string | null> = {};
  for (const [key, value] of Object.entries(wanted.labels))
    if (node.labels[key] !== value) labels[key] = value;
  for (const [key, old] of Object.entries(holdRecord.labels)) {
    if (wanted.labels[key] === undefined && (node.labels[key] ?? null) !== old) labels[key] = old;
  }
  return labels;
}

function nextUnschedulable(node: Node, holdRecord: HoldRecord, wanted: Marks): boolean {
  return (
    wanted.unschedulable ||
    (holdRecord.unschedulable === undefined ? node.unschedulable : holdRecord.unschedulable)
  );
}

/** Returns the marks that an earlier hold has set and that are missing now. */
function lostMarks(node: Node, holdRecord: HoldRecord, wanted: Marks): readonly string[] {
  return [
    ...(wanted.unschedulable && holdRecord.unschedulable !== undefined && !node.unschedulable
      ? ['the cordon']
      : []),
    ...wanted.taints
      .filter(
        taint =>
          holdRecord.taints[taintId(taint)] !== undefined &&
          findTaint(node.taints, taintId(taint)) === undefined,
      )
      .map(taint => `the taint ${taintId(taint)}`)
      .sort(),
    ...Object.entries(wanted.labels)
      .filter(([key, value]) => holdRecord.labels[key] !== undefined && node.labels[key] !== value)
      .map(([key]) => `the label ${key}`)
      .sort(),
  ];
}

/** Holders of the marks. */
type Holders = {
  /**
   * Everything that any served kind can set on a node: nothing else is removed or restored,
   * whatever the record contains.
   */
  readonly marks: Marks;
  /** Names of their kinds, for the record. */
  readonly kinds?: readonly string[];
  /** Record to start from if the node has none: that of a node held by the previous operator. */
  readonly assumed?: HoldRecord;
};

/** Returns the write that removes the record and changes nothing else. */
export function discardRecordChange(node: Node): HoldChange {
  return {
    patch: {
      metadata: {
        resourceVersion: node.resourceVersion,
        annotations: { [beforeAnnotation]: null },
      },
    },
    uncordons: false,
    lost: [],
  };
}

/**
 * Returns the one write that makes the node carry exactly the wanted marks beside those of others;
 * undefined if it does already. This function holds, guards, removes one of several maintenances,
 * and releases the node.
 */
export function holdChange(
  node: Node,
  wanted: Marks,
  { marks, kinds = [], assumed = emptyRecord }: Holders,
): HoldChange | undefined {
  const stored = readHoldRecord(node.holdRecord, marks);
  const holdRecord = stored ?? assumed;
  const record = nextHoldRecord(node, holdRecord, wanted, kinds);
  const recordText = isEmpty(record) ? undefined : writeHoldRecord(record);
  const taints = nextTaints(node, holdRecord, wanted);
  const labels = nextLabels(node, holdRecord, wanted);
  const unschedulable = nextUnschedulable(node, holdRecord, wanted);
  const metadata: Record<string, JsonObject> = {
    ...(recordText !== node.holdRecord && {
      annotations: { [beforeAnnotation]: recordText ?? null },
    }),
    ...(Object.keys(labels).length > 0 && { labels }),
  };
  const spec: JsonObject = {
    ...(unschedulable !== node.unschedulable && { unschedulable: unschedulable ? true : null }),
    ...(!sameJson([...taints], [...node.taints]) && {
      taints: taints.length === 0 ? null : [...taints],
    }),
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
}

/**
 * Returns the record that an operator without one implies: it assumed that none of its marks
 * existed before (seed contract, M5).
 */
export function inferredRecord(wanted: Marks): HoldRecord {
  return {
    ...(wanted.unschedulable && { unschedulable: false }),
    taints: Object.fromEntries(wanted.taints.map(taint => [taintId(taint), null])),
    labels: Object.fromEntries(Object.keys(wanted.labels).map(key => [key, null])),
  };
}
