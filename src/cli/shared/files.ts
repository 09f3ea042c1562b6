import { readFileSync } from 'node:fs';
import { UsageError } from './fail.ts';

/** What a file says; `-` is the standard input. Throws a UsageError that names the file. */
export const textIn = (file: string): string => {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
};
