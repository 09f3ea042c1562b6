import { fail, overload } from '../failure.ts';
import type { Expression } from '../parse/syntax.ts';
import { EntryMapping, List, type Mapping, Optional, type Value } from '../values/values.ts';
import type { EvaluationScope } from './scope.ts';

/** Returns a list, without empty optional items. */
export function listOf(
  { items }: Extract<Expression, { readonly kind: 'list' }>,
  scope: EvaluationScope,
): List {
  return List.of(
    items.flatMap(({ optional, value: item }): readonly Value[] => {
      const value = scope.valueOf(item, scope);
      if (!optional) return [value];
      if (!(value instanceof Optional)) return overload();
      return value.value === undefined ? [] : [value.value];
    }),
  );
}

/** Returns a map, without empty optional entries. */
export function mapOf(
  { entries }: Extract<Expression, { readonly kind: 'map' }>,
  scope: EvaluationScope,
): Mapping {
  const mapping = new EntryMapping();
  for (const { optional, key: keyed, value: valued } of entries) {
    const [key, given] = [scope.valueOf(keyed, scope), scope.valueOf(valued, scope)];
    if (optional && !(given instanceof Optional)) return overload();
    const value = optional && given instanceof Optional ? given.value : given;
    if (value !== undefined) put(mapping, key, value);
  }
  return mapping;
}

/** Adds an entry; fails for an invalid or repeated key. */
export function put(mapping: EntryMapping, key: Value, value: Value): void {
  if (mapping.add(key, value)) return;
  fail(
    mapping.has(key) && typeof key !== 'number'
      ? 'Failed with repeated key'
      : 'unsupported key type',
  );
}
