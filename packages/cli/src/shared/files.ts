import { readFileSync } from 'node:fs';
import { isObject, type JsonObject } from '@drydock/apimachinery';
import { errorText, UsageError } from '@drydock/utils';
import { parseAllDocuments } from 'yaml';

function textIn(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8');
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Returns the objects of a YAML file, one for each non-empty document; `-` is the standard input.
 * Throws a UsageError that names the file and the error.
 */
export function documentsIn(file: string): readonly JsonObject[] {
  return [...parseAllDocuments(textIn(file))].flatMap(document => {
    const [error] = document.errors;
    if (error !== undefined)
      throw new UsageError(`${file} is not valid YAML: ${error.message.split('\n')[0] ?? ''}`);
    const value: unknown = document.toJS();
    return isObject(value) ? [value] : [];
  });
}
