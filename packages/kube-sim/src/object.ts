import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';

export { at, items, objects, part, strings, text } from '@drydock/apimachinery';

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
};

/** Metadata of a stored object. */
export type ObjectMeta = JsonObject & {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
};

/**
 * A stored object: deeply frozen, without `apiVersion` and `kind`, which belong to the response and
 * not to the object.
 */
export type Stored = JsonObject & { readonly metadata: ObjectMeta };

/** An object before it is stored: unchecked. */
export type Draft = JsonObject;

/** Compares by name. */
export function byName({ metadata: one }: Stored, { metadata: other }: Stored): number {
  return one.name < other.name ? -1 : Number(one.name > other.name);
}

/** Returns the metadata of a draft, if it is an object at all. */
export function metaOf(draft: Draft): JsonObject {
  return isObject(draft['metadata']) ? draft['metadata'] : {};
}

/** Returns the draft with changed metadata; the same object where nothing changes. */
export function withMeta(draft: Draft, changes: JsonObject): Draft {
  const before = metaOf(draft);
  if (Object.keys(changes).every(key => before[key] === changes[key])) return draft;
  return { ...draft, metadata: without({ ...before, ...changes }) };
}

/** Returns a copy without undefined members. */
export function without(object: JsonObject, ...keys: readonly string[]): JsonObject {
  const kept: Record<string, Json> = {};
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value !== undefined && !keys.includes(key)) kept[key] = value;
  }
  return kept;
}

/** Freezes a value deeply; stops at frozen parts, such as everything from the store. */
export function freeze<T extends Json | undefined>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
}
