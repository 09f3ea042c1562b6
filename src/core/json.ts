/** JSON as the API server sends and takes it. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

export type JsonObject = { readonly [key: string]: Json | undefined };

export const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What a record has of its own under a key that somebody else has chosen: `constructor` is no label that every object has. */
export const own = <T>(record: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** A member that should be an object; an empty one where it is not. */
export const part = (draft: JsonObject | undefined, ...path: readonly string[]): JsonObject => {
  let at: Json | undefined = draft;
  for (const key of path) at = isObject(at) ? at[key] : undefined;
  return isObject(at) ? at : {};
};

/** What stands at the end of a path, undefined where the path ends early. */
export const at = (draft: Json | undefined, ...path: readonly string[]): Json | undefined => {
  let here: Json | undefined = draft;
  for (const key of path) here = isObject(here) ? here[key] : undefined;
  return here;
};

/** The elements of a list; none where it is no list. */
export const items = (value: Json | undefined): readonly Json[] => (Array.isArray(value) ? (value as readonly Json[]) : []);

/** The elements of a list that are objects. */
export const objects = (value: Json | undefined): readonly JsonObject[] => {
  const all = items(value);
  // Nearly always they all are, and it is asked all the time.
  for (const one of all) if (!isObject(one)) return all.filter(isObject);
  return all as readonly JsonObject[];
};

/** The string at the end of a path, or an empty one. */
export const text = (draft: Json | undefined, ...path: readonly string[]): string => {
  const value = at(draft, ...path);
  return typeof value === 'string' ? value : '';
};

/** The string values of a map. */
export const strings = (value: Json | undefined): Readonly<Record<string, string>> =>
  isObject(value) ? (value as Readonly<Record<string, string>>) : {};

/** Structural equality; a key with the value undefined counts as missing. */
export const sameJson = (one: Json | undefined, other: Json | undefined): boolean => {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, index) => sameJson(item, other[index]));
  }
  if (!isObject(one) || !isObject(other)) return false;
  for (const key of Object.keys(one)) if (!sameJson(one[key], other[key])) return false;
  // What both have has been compared.
  for (const key of Object.keys(other)) if (other[key] !== undefined && one[key] === undefined) return false;
  return true;
};

/**
 * The merge patch (RFC 7386) that turns `before` into `after`; undefined when nothing differs. Arrays are replaced whole, as the rule says.
 */
export const mergePatch = (before: JsonObject, after: JsonObject): JsonObject | undefined => {
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
};
