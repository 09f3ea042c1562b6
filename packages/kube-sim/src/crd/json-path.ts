import { isObject, type Json } from '@drydock/apimachinery';

type Step = string | number | { readonly key: string; readonly value: string };

const step =
  /\.([A-Za-z0-9_-]+)|\['([^']+)'\]|\[(\d+)\]|\[\?\(@\.([A-Za-z0-9_-]+)\s*==\s*["']([^"']*)["']\)\]/y;

/**
 * Parses a JSONPath of a CRD: names, indexes, and a selection by one field; returns undefined for
 * anything else.
 */
export function readPath(path: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  for (let at = 0; at < path.length; at = step.lastIndex) {
    step.lastIndex = at;
    const [, name, quoted, index, key, value] = step.exec(path) ?? [];
    if (name === undefined && quoted === undefined && index === undefined && key === undefined)
      return undefined;
    steps.push(
      name ??
        quoted ??
        (index === undefined ? { key: key ?? '', value: value ?? '' } : Number(index)),
    );
  }
  return steps;
}

/** Returns the value at a path. */
export function follow(value: Json | undefined, steps: readonly Step[]): Json | undefined {
  return steps.reduce<Json | undefined>((here, one) => {
    if (typeof one === 'string') return isObject(here) ? here[one] : undefined;
    if (!Array.isArray(here)) return undefined;
    const list = here as readonly Json[];
    return typeof one === 'number'
      ? list[one]
      : list.find(item => isObject(item) && item[one.key] === one.value);
  }, value);
}
