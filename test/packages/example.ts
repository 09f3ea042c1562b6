import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The example in the README of a package, and what it prints. */
export type Example = { readonly code: string; readonly output: string };

/** Returns the example in the README.md of a folder; both texts are empty where there is none. */
export function exampleIn(folder: string): Example {
  const readme = readFileSync(join(folder, 'README.md'), 'utf8');
  const [, code = '', output = ''] =
    /```ts\n([\s\S]*?)```\n\n```text\n([\s\S]*?)```/.exec(readme) ?? [];
  return { code, output };
}
