import { isObject, type Json, type JsonObject } from '../core/json.ts';

export { at, items, objects, part, strings, text } from '../core/json.ts';

export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
};

/** metadata of an object that has been stored. */
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

/** An object as it is stored: deeply frozen, without `apiVersion` and `kind`, which belong to the answer and not to the object. */
export type Stored = JsonObject & { readonly metadata: ObjectMeta };

/** An object on its way: nothing is known of it yet. */
export type Draft = JsonObject;

/** In the order of their names. */
export const byName = ({ metadata: one }: Stored, { metadata: other }: Stored): number =>
  one.name < other.name ? -1 : Number(one.name > other.name);

/** The metadata of a draft, as far as it is an object at all. */
export const metaOf = (draft: Draft): JsonObject => (isObject(draft['metadata']) ? draft['metadata'] : {});

/** The same draft with another metadata; the very same one where that would change nothing. */
export const withMeta = (draft: Draft, changes: JsonObject): Draft => {
  const before = metaOf(draft);
  if (Object.keys(changes).every(key => before[key] === changes[key])) return draft;
  return { ...draft, metadata: without({ ...before, ...changes }) };
};

/** A copy without members that are undefined. */
export const without = (object: JsonObject, ...keys: readonly string[]): JsonObject => {
  const kept: Record<string, Json> = {};
  for (const key of Object.keys(object)) {
    const value = object[key];
    if (value !== undefined && !keys.includes(key)) kept[key] = value;
  }
  return kept;
};

/** Freezes all the way down; stops at what is frozen already, which is so for everything that came out of the store. */
export const freeze = <T extends Json | undefined>(value: T): T => {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) freeze(member);
  return Object.freeze(value);
};
