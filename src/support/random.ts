import { randomBytes } from 'node:crypto';

/** Sixteen letters that nobody can guess (64 random bits), fit for a part of an object's name. */
export const randomLetters = (): string => randomBytes(8).toString('hex');
