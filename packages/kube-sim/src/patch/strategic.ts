import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { type Field, structNamed } from '../kinds/types.ts';

/**
 * Strategic merge patch: lists of built-in kinds are merged by the key in their Go type. Upstream:
 * apimachinery/pkg/util/strategicpatch, with its directives `$patch`, `$deleteFromPrimitiveList/…`,
 * `$setElementOrder/…`, `$retainKeys`.
 */

/** Thrown within one call of `applyStrategic` only. */
class PatchError extends Error {}

export type StrategicPatchResult =
  | { readonly kind: 'patched'; readonly value: JsonObject }
  | { readonly kind: 'failed'; readonly message: string };

export function applyStrategic(
  document: JsonObject,
  patch: JsonObject,
  struct: string,
): StrategicPatchResult {
  try {
    return { kind: 'patched', value: mergeMap(document, patch, struct) };
  } catch (error) {
    if (error instanceof PatchError) return { kind: 'failed', message: error.message };
    throw error;
  }
}

function fieldOf(struct: string | undefined, key: string): Field | undefined {
  return struct === undefined ? undefined : structNamed(struct).fields.get(key);
}

/** Returns the struct of a field's values. */
function innerStruct(field: Field | undefined): string | undefined {
  const type = field?.type;
  if (type === undefined) return undefined;
  const inner = type.kind === 'list' || type.kind === 'map' ? type.of : type;
  return inner.kind === 'struct' ? inner.name : undefined;
}

const directive = /^\$(deleteFromPrimitiveList|setElementOrder)\/(.+)$/;

function mergeMap(document: JsonObject, patch: JsonObject, struct: string | undefined): JsonObject {
  if (patch['$patch'] === 'replace') return withoutDirectives(patch);
  if (patch['$patch'] === 'delete') return {};
  const kept = patch['$retainKeys'];
  const result: Record<string, Json | undefined> = Array.isArray(kept)
    ? Object.fromEntries(
        Object.entries(document).filter(([key]) => (kept as readonly Json[]).includes(key)),
      )
    : { ...document };
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || key === '$patch' || key === '$retainKeys') continue;
    const [, what, list = ''] = directive.exec(key) ?? [];
    if (what === 'deleteFromPrimitiveList') result[list] = withoutValues(result[list], value);
    else if (what === undefined) setMember(result, key, value, fieldOf(struct, key));
  }
  // Orders are applied after all elements are merged.
  for (const [key, value] of Object.entries(patch)) {
    const [, what, list = ''] = directive.exec(key) ?? [];
    if (what === 'setElementOrder')
      result[list] = inOrder(result[list], value ?? null, document[list], fieldOf(struct, list));
  }
  return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined));
}

function setMember(
  result: Record<string, Json | undefined>,
  key: string,
  value: Json,
  field: Field | undefined,
): void {
  if (value === null) {
    delete result[key];
    return;
  }
  const before = result[key];
  const type = field?.type.kind;
  if (isObject(value)) {
    // A map of maps (or a struct) is merged member by member.
    const inner = type === 'map' ? undefined : innerStruct(field);
    result[key] =
      isObject(before) || value['$patch'] !== undefined
        ? mergeMap(isObject(before) ? before : {}, value, inner)
        : cleaned(value, inner);
  } else if (Array.isArray(value) && field?.merge !== undefined) {
    result[key] =
      Array.isArray(before) || field.merge !== ''
        ? mergeList(listOf(before), value as readonly Json[], field)
        : value;
  } else
    result[key] = Array.isArray(value)
      ? (value as readonly Json[]).map(withoutDirectivesIn)
      : value;
}

/** Returns a new value without directives and nulls. */
function cleaned(patch: JsonObject, struct: string | undefined): JsonObject {
  return mergeMap({}, patch, struct);
}

function mergeList(before: readonly Json[], patch: readonly Json[], field: Field): readonly Json[] {
  const key = field.merge ?? '';
  if (key === '') return ordered(mergeSet(before, patch), patch, before, key);
  const elements = patch.filter(isObject);
  if (elements.length !== patch.length)
    throw new PatchError('patch element is not a map, and its list merges by key');
  if (elements.some(one => one['$patch'] === 'replace'))
    return elements.filter(one => one['$patch'] === undefined).map(withoutDirectives);
  const inner = innerStruct(field);
  let result = before;
  for (const element of elements) result = mergeElement(result, element, key, inner);
  return ordered(
    result,
    elements.filter(one => one['$patch'] === undefined),
    before,
    key,
  );
}

function mergeElement(
  list: readonly Json[],
  element: JsonObject,
  key: string,
  struct: string | undefined,
): readonly Json[] {
  const id = element[key];
  if (id === undefined) {
    const message = `map: map[${Object.entries(element)
      .map(
        ([name, value]) => `${name}:${typeof value === 'string' ? value : JSON.stringify(value)}`,
      )
      .join(' ')}] does not contain declared merge key: ${key}`;
    throw new PatchError(message);
  }
  const isIt = (one: Json): boolean => isObject(one) && sameJson(one[key], id);
  if (element['$patch'] === 'delete') return list.filter(one => !isIt(one));
  const index = list.findIndex(isIt);
  const before = list[index];
  if (!isObject(before)) return [...list, cleaned(element, struct)];
  return list.with(index, mergeMap(before, element, struct));
}

function mergeSet(before: readonly Json[], patch: readonly Json[]): readonly Json[] {
  return [
    ...before,
    ...patch.filter(
      (value, index) => !before.some(one => sameJson(one, value)) && patch.indexOf(value) === index,
    ),
  ];
}

function withoutValues(list: Json | undefined, values: Json): Json {
  const gone = Array.isArray(values) ? (values as readonly Json[]) : [];
  return (Array.isArray(list) ? (list as readonly Json[]) : []).filter(
    one => !gone.some(value => sameJson(one, value)),
  );
}

function idOf(one: Json | undefined, key: string): Json | undefined {
  return key !== '' && isObject(one) ? one[key] : one;
}
function placeIn(list: readonly Json[], one: Json | undefined, key: string): number {
  return list.findIndex(other => sameJson(idOf(other, key), idOf(one, key)));
}

/**
 * Orders elements: those in the patch have its order; the rest keeps its own, before its former
 * successors. Upstream: normalizeElementOrder.
 */
function ordered(
  merged: readonly Json[],
  patch: readonly Json[],
  before: readonly Json[],
  key: string,
): readonly Json[] {
  const rank = (list: readonly Json[]) => (one: Json, other: Json) =>
    placeIn(list, one, key) - placeIn(list, other, key);
  const named = merged.filter(one => placeIn(patch, one, key) >= 0).sort(rank(patch));
  const rest = merged.filter(one => placeIn(patch, one, key) < 0).sort(rank(before));
  const result: Json[] = [];
  while (rest.length > 0 && named.length > 0) {
    const [left, right] = [placeIn(before, rest[0], key), placeIn(before, named[0], key)];
    const next = left >= 0 && right >= 0 && left < right ? rest.shift() : named.shift();
    if (next !== undefined) result.push(next);
  }
  return [...result, ...rest, ...named];
}

/** Applies `$setElementOrder`: the order that the client wants. */
function inOrder(
  list: Json | undefined,
  order: Json,
  before: Json | undefined,
  field: Field | undefined,
): Json {
  return ordered(listOf(list), listOf(order), listOf(before), field?.merge ?? '');
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function withoutDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(patch)
      .filter(([key, value]) => !key.startsWith('$') && value !== null)
      .map(([key, value]) => [key, value === undefined ? undefined : withoutDirectivesIn(value)]),
  );
}

function withoutDirectivesIn(value: Json): Json {
  return isObject(value) ? withoutDirectives(value) : value;
}
