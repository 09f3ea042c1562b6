/** JSON as the API server sends and accepts it. */
export type Json =
  | null
  | boolean
  | number
  | string
  | readonly Json[]
  | { readonly [key: string]: Json | undefined };

export type JsonObject = { readonly [key: string]: Json | undefined };

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns a record's own value of a key that others have chosen: `constructor` is not a label of
 * every object.
 */
export function own<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Returns a member that should be an object; an empty one if it is not. */
export function part(draft: JsonObject | undefined, ...path: readonly string[]): JsonObject {
  let at: Json | undefined = draft;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return isObject(at) ? at : {};
}

/** Returns the value at the end of a path; undefined if the path ends early. */
export function at(draft: Json | undefined, ...path: readonly string[]): Json | undefined {
  let here: Json | undefined = draft;
  for (const key of path) here = isObject(here) ? here[key] : undefined;
  return here;
}

/** Returns the elements of a list; none if it is not a list. */
export function items(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

/** Returns the elements of a list that are objects. */
export function objects(value: Json | undefined): readonly JsonObject[] {
  const all = items(value);
  // Nearly always they all are, and this function is called all the time.
  for (const one of all) if (!isObject(one)) return all.filter(isObject);
  return all as readonly JsonObject[];
}

/** Returns the string at the end of a path, or an empty one. */
export function text(draft: Json | undefined, ...path: readonly string[]): string {
  const value = at(draft, ...path);
  return typeof value === 'string' ? value : '';
}

/** Returns the string values of a map. */
export function strings(value: Json | undefined): Readonly<Record<string, string>> {
  return isObject(value) ? (value as Readonly<Record<string, string>>) : {};
}

/** Reports structural equality; a key with the value undefined counts as missing. */
export function sameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => sameJson(item, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  for (const key of Object.keys(one)) if (!sameJson(one[key], other[key])) return false;
  // Common keys have been compared.
  for (const key of Object.keys(other))
    if (other[key] !== undefined && one[key] === undefined) return false;
  return true;
}

/**
 * Returns the merge patch (RFC 7386) that turns `before` into `after`; undefined if nothing
 * differs. Arrays are replaced whole, as the RFC demands.
 */
export function mergePatch(before: JsonObject, after: JsonObject): JsonObject | undefined {
  const patch: Record<string, Json> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const old = before[key];
    const wanted = after[key];
    if (sameJson(old, wanted)) continue;
    if (wanted === undefined || wanted === null) patch[key] = null;
    else if (isObject(old) && isObject(wanted)) patch[key] = mergePatch(old, wanted) ?? null;
    else patch[key] = wanted;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const pattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Reports whether a text has the form of a UID: 8, 4, 4, 4 and 12 hexadecimal digits. */
export function isUid(text: string): boolean {
  return pattern.test(text);
}
