import { isObject, type Json, type JsonObject } from '../../core/json.ts';
import { freeze } from '../../embedded/object.ts';

/** Members of these are looked at: what stands in them is mostly the same in many objects, the whole of them hardly ever. */
const parents = ['metadata', 'spec', 'status'] as const;

/**
 * Makes parts that are alike in several objects one and the same, frozen: the containers of all pods of a Deployment, their labels and
 * conditions. Of a large cluster most is said again and again; kept once, it takes a fraction of the memory, and is read in no time.
 */
export class Shared {
  readonly #parts = new Map<string, Json>();

  /** The same object, out of shared parts. */
  of(object: JsonObject): JsonObject {
    const result: Record<string, Json | undefined> = { ...object };
    for (const parent of parents) {
      const value = object[parent];
      if (isObject(value)) result[parent] = this.#members(value);
    }
    return result;
  }

  #members(parent: JsonObject): JsonObject {
    const result: Record<string, Json | undefined> = {};
    for (const [key, value] of Object.entries(parent)) result[key] = typeof value === 'object' && value !== null ? this.#one(value) : value;
    return result;
  }

  #one(part: Json): Json {
    const text = JSON.stringify(part);
    const known = this.#parts.get(text);
    if (known !== undefined) return known;
    this.#parts.set(text, freeze(part));
    return part;
  }
}
