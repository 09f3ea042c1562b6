import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { freeze } from '@drydock/kube-sim';

/**
 * Members whose own members are shared: most of these are equal in many objects, a whole one hardly
 * ever.
 */
const parents = ['metadata', 'spec', 'status'] as const;

/**
 * Replaces equal parts of several objects by one frozen part: the containers of all pods of a
 * Deployment, their labels and conditions. Most of a large cluster is such repetition; stored once,
 * it takes a fraction of the memory, and is read in no time.
 */
export class Shared {
  readonly #parts = new Map<string, Json>();

  /** Returns an equal object of shared parts. */
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
    for (const [key, value] of Object.entries(parent))
      result[key] = typeof value === 'object' && value !== null ? this.#one(value) : value;
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
