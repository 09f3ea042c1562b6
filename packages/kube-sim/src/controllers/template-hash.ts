import type { Json, JsonObject } from '@drydock/apimachinery';
import { isObject } from '@drydock/apimachinery';
import { memoizeOnObject } from '../memo.ts';

/**
 * Letters of generated names: no vowels, so that no words arise (apimachinery
 * rand.SafeEncodeString).
 */
const letters = 'bcdfghjklmnpqrstvwxz2456789';

/** Returns the same text for the same content, whatever the order of its members. */
export function canonical(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`)
    .join(',')}}`;
}

/** Returns FNV-1a, 32 bits. */
function hash(text: string): number {
  let sum = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1)
    sum = Math.imul(sum ^ text.charCodeAt(at), 0x01000193) >>> 0;
  return sum;
}

/**
 * Returns the value of `pod-template-hash`: another number than the real controller's, in the same
 * format.
 */
export const templateHash = memoizeOnObject((template: JsonObject): string =>
  Array.from(
    String(hash(canonical(template))),
    digit => letters[digit.charCodeAt(0) % letters.length] ?? '',
  ).join(''),
);
