import { isObject, type Json } from '@drydock/apimachinery';

/** Returns the same text for the same content, in any order of its keys. */
export function canonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${(value as readonly Json[]).map(canonical).join()}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value).filter(key => value[key] !== undefined);
  return `{${keys
    .toSorted()
    .map(key => `${JSON.stringify(key)}:${canonical(value[key])}`)
    .join()}}`;
}
