import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { canonical } from './canonical.ts';

/**
 * Paths of the fields that a reader knows, with their defaults: for example `work.job.attempts=1`,
 * with `[]` for the fields of each item of a list. A field without fields of its own is kept whole,
 * with any contents; a path that ends with a dot is an object without fields.
 */
export type FieldPaths = readonly string[];

type Known = {
  readonly fields: Map<string, Known>;
  default?: string;
  isList?: true;
  isEmpty?: true;
};

function newKnown(): Known {
  return { fields: new Map() };
}

function parse(paths: FieldPaths): Known {
  const root = newKnown();
  for (const text of paths) {
    const equals = text.indexOf('=');
    const [path, value] = equals < 0 ? [text] : [text.slice(0, equals), text.slice(equals + 1)];
    let at = root;
    for (const part of path.split('.')) {
      if (part === '') continue;
      const isList = part.endsWith('[]');
      const name = isList ? part.slice(0, -2) : part;
      const next = at.fields.get(name) ?? newKnown();
      at.fields.set(name, next);
      if (isList) next.isList = true;
      at = next;
    }
    if (value !== undefined) at.default = canonical(JSON.parse(value) as Json);
    if (path.endsWith('.')) at.isEmpty = true;
  }
  return root;
}

/** Function that reports whether an unknown field is kept. */
type Unknown = (value: Json) => boolean;

function reduced(value: Json, known: Known, keeps: Unknown): Json {
  if (known.fields.size === 0 && !known.isEmpty) return value;
  if (Array.isArray(value))
    return known.isList
      ? (value as readonly Json[]).map(one => fieldsOf(one, known, keeps))
      : value;
  return fieldsOf(value, known, keeps);
}

function fieldsOf(value: Json, { fields }: Known, keeps: Unknown): Json {
  if (!isObject(value)) return value;
  const kept = Object.entries(value).flatMap(
    ([name, one]): readonly (readonly [string, Json])[] => {
      const known = fields.get(name);
      if (one === undefined) return [];
      if (known === undefined) return keeps(one) ? [[name, one]] : [];
      const left = reduced(one, known, keeps);
      return known.default !== undefined && canonical(left) === known.default ? [] : [[name, left]];
    },
  );
  return Object.fromEntries(kept);
}

/**
 * Returns a function that reduces an object to the fields that a user has written and that are
 * read: without fields that no reader knows, and without those that have their default. A new field
 * of the CRD, or a new default, does not change the result.
 */
export function writtenIn(
  paths: FieldPaths,
  keeps: Unknown = () => false,
): (object: JsonObject) => JsonObject {
  const known = parse(paths);
  return object => fieldsOf(object, known, keeps) as JsonObject;
}
