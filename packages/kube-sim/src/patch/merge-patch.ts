import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';

/** Applies RFC 7386: null removes, objects merge, everything else replaces. */
export function applyMergePatch(document: JsonObject, patch: JsonObject): JsonObject {
  const result: Record<string, Json | undefined> = { ...document };
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined) continue;
    if (value === null) delete result[key];
    else if (isObject(value)) {
      const before = result[key];
      result[key] = applyMergePatch(isObject(before) ? before : {}, value);
    } else result[key] = value;
  }
  return result;
}
