import { isObject, type JsonObject } from '@drydock/apimachinery';

/**
 * Fields in the spec of a MaintenancePlan that determine what is done, on which nodes, and how that
 * is proven.
 */
const parts = ['due', 'done', 'prepare', 'work'] as const;

/** Reports whether the plan is undone: its rollback replaces these fields. */
export function isUndone(spec: JsonObject): boolean {
  return spec['direction'] === 'Rollback' && isObject(spec['rollback']);
}

/**
 * Returns these fields as they are carried out. A rollback without a `due` of its own is for the
 * nodes for which that of the plan is false. Its expression is on a line of its own: it may end in
 * a comment.
 */
export function partsInForce(spec: JsonObject): JsonObject {
  const of = isUndone(spec) ? (spec['rollback'] as JsonObject) : spec;
  const found = Object.fromEntries(
    parts.flatMap(part => (of[part] === undefined ? [] : [[part, of[part]]])),
  );
  const due = isObject(spec['due']) ? spec['due']['expression'] : undefined;
  if (of === spec || of['due'] !== undefined || typeof due !== 'string') return found;
  return { due: { expression: `!(${due}\n)` }, ...found };
}
