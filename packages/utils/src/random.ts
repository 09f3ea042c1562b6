import { randomBytes } from 'node:crypto';

/**
 * Returns sixteen random hexadecimal letters (64 unguessable bits), fit for a part of an object's
 * name.
 */
export function randomLetters(): string {
  return randomBytes(8).toString('hex');
}
