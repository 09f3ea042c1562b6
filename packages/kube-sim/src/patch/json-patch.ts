import { isObject, type Json, type JsonObject, sameJson } from '@drydock/apimachinery';
import { text } from '../object.ts';

/** RFC 6902, with the behavior of gopkg.in/evanphx/json-patch in the API server. */

export type JsonPatchResult =
  | { readonly kind: 'patched'; readonly value: JsonObject }
  | { readonly kind: 'failed'; readonly message: string };

/** Thrown within one call of `applyJsonPatch` only. */
class PatchError extends Error {}

function segments(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map(part => part.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function indexIn(list: readonly Json[], key: string): number {
  const index = Number(key);
  if (!/^-?[0-9]+$/.test(key))
    throw new PatchError(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`);
  if (index < 0 || index >= list.length)
    throw new PatchError(`Unable to access invalid index: ${index}: invalid index referenced`);
  return index;
}

function elementOf(list: readonly Json[], key: string): Json | undefined {
  return list[indexIn(list, key)];
}

function find(value: Json | undefined, path: readonly string[]): Json | undefined {
  let here = value;
  for (const key of path) {
    if (Array.isArray(here)) here = elementOf(here, key);
    else here = isObject(here) ? here[key] : undefined;
  }
  return here;
}

type Change = (parent: Json, key: string) => Json;

/** Copies the values along the path and changes the parent at its end. */
function within(
  value: Json | undefined,
  path: readonly string[],
  whole: string,
  change: Change,
): Json {
  const [key = '', ...rest] = path;
  if (value === undefined || value === null || typeof value !== 'object')
    throw new PatchError(`doc is missing path: ${whole}: missing value`);
  if (rest.length === 0) return change(value, key);
  if (Array.isArray(value)) {
    const list = value as readonly Json[];
    const index = indexIn(list, key);
    return list.with(index, within(list[index], rest, whole, change));
  }
  const object = value as JsonObject;
  return { ...object, [key]: within(object[key], rest, whole, change) };
}

function add(added: Json): Change {
  return (parent, key) => {
    if (!Array.isArray(parent)) return { ...(parent as JsonObject), [key]: added };
    const list = parent as readonly Json[];
    if (key === '-') return [...list, added];
    const index = key === String(list.length) ? list.length : indexIn(list, key);
    return list.toSpliced(index, 0, added);
  };
}

function remove(operation: string, whole: string): Change {
  return (parent, key) => {
    if (Array.isArray(parent))
      return (parent as readonly Json[]).toSpliced(indexIn(parent as readonly Json[], key), 1);
    const { [key]: removed, ...rest } = parent as JsonObject;
    if (removed === undefined)
      throw new PatchError(
        `${operation} operation does not apply: doc is missing key: ${whole}: missing value`,
      );
    return rest;
  };
}

function replace(value: Json, whole: string): Change {
  return (parent, key) => {
    if (Array.isArray(parent))
      return (parent as readonly Json[]).with(indexIn(parent as readonly Json[], key), value);
    if ((parent as JsonObject)[key] === undefined) {
      throw new PatchError(
        `replace operation does not apply: doc is missing key: ${whole}: missing value`,
      );
    }
    return { ...(parent as JsonObject), [key]: value };
  };
}

function valueAt(document: Json, pointer: string, operation: string): Json {
  const value = find(document, segments(pointer));
  if (value === undefined)
    throw new PatchError(
      `${operation} operation does not apply: doc is missing from path: ${pointer}: missing value`,
    );
  return value;
}

function test(document: Json, pointer: string, wanted: Json | undefined): Json {
  const found = find(document, segments(pointer));
  if (sameJson(found ?? null, wanted ?? null)) return document;
  throw new PatchError(`testing value ${pointer} failed: test failed`);
}

function step(document: Json, operation: JsonObject): Json {
  const { op, value = null } = operation;
  const [path, from] = [text(operation, 'path'), text(operation, 'from')];
  const at = (change: Change): Json => within(document, segments(path), path, change);
  switch (op) {
    case 'add':
      return at(add(value));
    case 'remove':
      return at(remove('remove', path));
    case 'replace':
      return at(replace(value, path));
    case 'test':
      return test(document, path, value);
    case 'copy':
      return at(add(valueAt(document, from, 'copy')));
    case 'move': {
      const moved = valueAt(document, from, 'move');
      return within(
        within(document, segments(from), from, remove('move', from)),
        segments(path),
        path,
        add(moved),
      );
    }
    default:
      throw new PatchError(`Unexpected kind: ${JSON.stringify(op)}`);
  }
}

/** Applies a list of operations; a single failure refuses the whole. */
export function applyJsonPatch(
  document: JsonObject,
  operations: readonly JsonObject[],
): JsonPatchResult {
  try {
    const value = operations.reduce(step, document as Json);
    return isObject(value)
      ? { kind: 'patched', value }
      : { kind: 'failed', message: 'the patch leaves no object' };
  } catch (error) {
    if (error instanceof PatchError) return { kind: 'failed', message: error.message };
    throw error;
  }
}

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
