import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { isObject, type JsonObject } from '../../core/json.ts';
import { errorText } from '../../support/error-text.ts';
import { NovaConfigError } from './config.ts';

const textOf = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new NovaConfigError(`cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
};

/** A YAML file with a map in it; undefined when there is no such file. Throws a NovaConfigError that quotes nothing of it. */
export const readMap = (file: string): JsonObject | undefined => {
  const text = textOf(file);
  if (text === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch (error) {
    // The message of the parser quotes the line, and that may be the one with the password.
    const { linePos } = error as { readonly linePos?: readonly { readonly line: number }[] };
    throw new NovaConfigError(`${file} is not valid YAML${linePos?.[0] === undefined ? '' : `: line ${linePos[0].line}`}`);
  }
  if (!isObject(parsed)) throw new NovaConfigError(`${file} is no map of keys and values`);
  return parsed;
};

/** Numbers and such are taken as they are written: a password may be 1234. */
export const asText = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;

/** Every value of a map as text; those that have parts are left out. */
export const textsOf = (map: JsonObject): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(Object.entries(map).map(([key, value]) => [key, asText(value)]));
