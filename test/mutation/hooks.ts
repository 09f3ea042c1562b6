import { readFileSync } from 'node:fs';
import { registerHooks, stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { planted } from './planted.ts';
import { mutantsOf, plant } from './schemata.ts';

/**
 * From now on `files` are loaded with their faults planted, and tests are kept by the bench instead
 * of being run.
 */
export function plantAll(root: string, files: readonly string[]): void {
  const wanted = new Map(files.map(file => [pathToFileURL(join(root, file)).href, file]));
  const bench = new URL('bench.ts', import.meta.url).href;
  Object.assign(globalThis, { planted });
  registerHooks({
    resolve: (name, context, next) =>
      name === 'node:test' ? { url: bench, shortCircuit: true } : next(name, context),
    load: (url, context, next) => {
      const file = wanted.get(url);
      if (file === undefined) return next(url, context);
      const text = readFileSync(fileURLToPath(url), 'utf8');
      return {
        format: 'module',
        source: stripTypeScriptTypes(plant(text, mutantsOf(file, text))),
        shortCircuit: true,
      };
    },
  });
}
