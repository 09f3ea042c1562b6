import assert from 'node:assert/strict';

/**
 * Loaded before every test file: `assert.deepEqual` takes any two Temporal values for equal,
 * because they have no properties that it could compare. Here they are compared by what they say,
 * wherever they stand in lists, maps and plain objects.
 */

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Gives back the same value where there is nothing of that kind in it: then the comparison, and
 * what it prints, are Node's own.
 */
function spelled(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const tag = Object.prototype.toString.call(value).slice('[object '.length, -1);
  if (tag.startsWith('Temporal.')) return `${tag} ${JSON.stringify(value)}`;
  const parts =
    Array.isArray(value) || value instanceof Map
      ? [...value]
      : isPlain(value)
        ? Object.entries(value)
        : [];
  const after = parts.map(spelled);
  if (after.every((part, at) => part === parts[at])) return value;
  if (Array.isArray(value)) return after;
  return value instanceof Map
    ? new Map(after as [unknown, unknown][])
    : Object.fromEntries(after as [string, unknown][]);
}

type Compare = (actual: unknown, expected: unknown, ...rest: readonly unknown[]) => void;

function bySpelling(compare: Compare): Compare {
  return (actual, expected, ...rest) => compare(spelled(actual), spelled(expected), ...rest);
}

Object.assign(assert, {
  deepEqual: bySpelling(assert.deepEqual as Compare),
  partialDeepStrictEqual: bySpelling(assert.partialDeepStrictEqual as Compare),
});
