import type { Json, JsonObject } from '@drydock/apimachinery';

/**
 * Values as somebody hostile would choose them: the ends of every type, and names that every object
 * has.
 */

export type Chance = () => number;

export function pick<T>(chance: Chance, all: readonly T[]): T {
  return all[Math.floor(chance() * all.length)] as T;
}

/** Ends of int32 and int64 as JSON brings them, and the numbers around which sums go wrong. */
const integers: readonly number[] = [
  0,
  1,
  -1,
  30,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 32,
  1e13,
  8.64e15,
  2 ** 53 - 1,
  -(2 ** 53),
  2 ** 63,
  -(2 ** 63),
];

const times: readonly string[] = [
  '2026-11-22T10:00:00Z',
  '2026-11-22T10:20:00Z',
  '1970-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
  '+275760-09-13T00:00:00Z',
  '-271821-04-20T00:00:00Z',
  '1963-03-02T01:06:41Z',
  '2026-02-30T25:61:61Z',
  'never',
  '',
];

const words: readonly string[] = [
  'web',
  'n1',
  'n2',
  '',
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  'x'.repeat(300),
  'ä\u0000\ud800',
  '../..',
  '🛠',
];

export const label: readonly string[] = [
  'app',
  'constructor',
  '__proto__',
  'node-role.kubernetes.io/control-plane',
  'dedicated',
  '',
];

export const odd: readonly Json[] = [null, 0, -1, 'text', true, [], {}, [null], { a: { b: [] } }];

export function maybe(chance: Chance, value: () => Json): Json | undefined {
  return chance() < 0.6 ? value() : undefined;
}
export function many<T extends Json>(chance: Chance, most: number, value: () => T): readonly T[] {
  return Array.from({ length: Math.floor(chance() * (most + 1)) }, value);
}

/** Values by type, each drawn anew. */
export function drawing(chance: Chance) {
  const int = (): number => pick(chance, integers);
  const time = (): string => pick(chance, times);
  const word = (): string => pick(chance, words);
  const map = (): JsonObject =>
    Object.fromEntries(many(chance, 4, () => pick(chance, label)).map(key => [key, word()]));
  const selector = (): JsonObject => ({
    matchLabels: maybe(chance, map),
    matchExpressions: maybe(chance, () =>
      many(chance, 3, () => ({
        key: pick(chance, label),
        operator: pick(chance, ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt']),
        values: many(chance, 2, word),
      })),
    ),
  });
  const condition = (...types: readonly string[]): JsonObject => ({
    type: pick(chance, types),
    status: pick(chance, ['True', 'False', 'Unknown', '']),
    reason: word(),
    message: word(),
    lastTransitionTime: time(),
  });
  return { int, time, word, map, selector, condition };
}

export type Draw = ReturnType<typeof drawing>;
