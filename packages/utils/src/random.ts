import { randomBytes } from 'node:crypto';

/**
 * Returns sixteen random hexadecimal letters (64 unguessable bits), fit for a part of an object's
 * name.
 */
export const randomLetters = (): string => randomBytes(8).toString('hex');
