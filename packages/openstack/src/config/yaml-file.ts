import { readFileSync } from 'node:fs';
import { isObject, type JsonObject } from '@drydock/apimachinery';
import { errorText } from '@drydock/utils';
import { parse } from 'yaml';
import { NovaConfigError } from './config.ts';

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new NovaConfigError(`cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Reads a YAML file with a map; returns undefined when it does not exist. Throws a NovaConfigError
 * that quotes nothing of it.
 */
export function readMap(file: string): JsonObject | undefined {
  const text = textOf(file);
  if (text === undefined) return undefined;
  let parsed: unknown;
  try {
    parsed = parse(text);
  } catch (error) {
    // The parser's message quotes the line, which may be the one with the password.
    const { linePos } = error as { readonly linePos?: readonly { readonly line: number }[] };
    throw new NovaConfigError(
      `${file} is not valid YAML${linePos?.[0] === undefined ? '' : `: line ${linePos[0].line}`}`,
    );
  }
  if (!isObject(parsed)) throw new NovaConfigError(`${file} is no map of keys and values`);
  return parsed;
}

/** Returns numbers and booleans as text: a password may be 1234. */
export function asText(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? String(value)
    : undefined;
}

/** Returns every scalar of a map as text. */
export function textsOf(map: JsonObject): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, asText(value)]));
}
