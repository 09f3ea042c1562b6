import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { LintedFolder } from './linted.ts';

/** The import table of docs/architecture.md is the linter's: every import that it does not allow is refused, and every one that it allows passes. */

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');

const cellsOf = (line: string): readonly string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map(cell => cell.trim());

const table = text.slice(text.indexOf('| from ↓')).split('\n\n')[0]?.split('\n') ?? [];
const columns = cellsOf(table[0] ?? '').slice(1);
const rows = table.slice(2).map(line => {
  const [from = '', ...cells] = cellsOf(line);
  return { from: from.split(/[ ,]/)[0] ?? '', cells };
});
/** The two modules without a column are imported by `cli` alone, if by any. */
const targets = [...columns, 'monitoring', 'ui'];

type Import = { readonly from: string; readonly path: string; readonly allowed: boolean };

/** `ports.ts` in a cell allows that file, and nothing whose name begins like it. */
const pathsTo = (to: string, cell: string): readonly Omit<Import, 'from'>[] => {
  const file = /^`(.+)`$/.exec(cell)?.[1];
  if (file === undefined) return [{ path: `${to}/any.ts`, allowed: cell === '✓' }];
  const near = [
    `p.ts`,
    `por.ts`,
    `portrait.ts`,
    `ports.ts.ts`,
    `ports/any.ts`,
    `dashboard/sc.ts`,
    `dashboard/screen.ts`,
    `dashboard/assets.ts`,
    `views/any.ts`,
  ];
  return [{ path: `${to}/${file}`, allowed: true }, ...near.map(path => ({ path: `${to}/${path}`, allowed: false }))];
};

const imports: readonly Import[] = rows.flatMap(({ from, cells }) =>
  targets
    .filter(to => to !== from)
    .flatMap(to => pathsTo(to, from === 'cli' ? '✓' : (cells[columns.indexOf(to)] ?? '')).map(one => ({ from, ...one }))),
);

const folder = new LintedFolder();
after(() => folder[Symbol.dispose]());

/** A file of a module, at a depth, with one import a line: the lines that the linter refuses. */
const refusedLines = (from: string, depth: number, paths: readonly string[]): ReadonlySet<number> => {
  const place = ['src', from, ...Array.from({ length: depth }, (_, at) => `depth${at}`), 'planted.ts'].join('/');
  const up = '../'.repeat(depth + 1);
  const text = paths.map((path, at) => `export { a as a${at} } from '${up}${path}';`).join('\n');
  return folder.refusedLines(place, text, 'no-restricted-imports');
};

test('the table has a row for every module', () => {
  assert.equal(rows.length, 15);
  assert.ok(imports.length > 200, `${imports.length} imports`);
});

for (const { from } of rows)
  test(`what ${from} may import by the table is what the linter allows`, () => {
    const planted = imports.filter(one => one.from === from);
    for (const depth of [0, 2]) {
      const refused = refusedLines(
        from,
        depth,
        planted.map(({ path }) => path),
      );
      assert.deepEqual(
        planted.map(({ path }, at) => ({ path, allowed: !refused.has(at + 1) })),
        planted.map(({ path, allowed }) => ({ path, allowed })),
      );
    }
  });
