import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LintedFolder } from './linted.ts';

/** Names that the glossary of docs/architecture.md has replaced do not come back, in tests and tools either. */

const retired = ['Wish', 'Moment', 'Courier', 'Crew', 'Props', 'Troubles'];

test('a retired name is refused wherever it is declared', () => {
  using folder = new LintedFolder();
  const text = [...retired.map(name => `export type ${name} = string;`), 'export const lane = 1;', 'export type WorkQueue = string;'].join(
    '\n',
  );
  for (const path of [
    'src/core/planted.ts',
    'src/core/planted.test.ts',
    'src/ui/planted.tsx',
    'test/planted.ts',
    'bench/planted.ts',
    'tools/planted.ts',
  ])
    assert.deepEqual([...folder.refusedLines(path, text, 'id-denylist')], [1, 2, 3, 4, 5, 6, 7], path);
});
