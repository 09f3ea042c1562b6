import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/**
 * One name is one thing: no two files of packages export a type of the same name
 * (docs/architecture.md, Words).
 */

const root = join(import.meta.dirname, '..', '..');

const declared = /^export (?:declare )?(?:abstract )?(?:type|interface|class|enum) (\w+)/gm;

function filesByName(sources: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const [file, text] of sources)
    for (const [, name = ''] of text.matchAll(declared))
      found.set(name, [...(found.get(name) ?? []), file]);
  return found;
}

function sharedNames(sources: ReadonlyMap<string, string>): readonly string[] {
  return [...filesByName(sources)]
    .filter(([, files]) => files.length > 1)
    .map(([name, files]) => `${name}: ${files.toSorted().join(', ')}`);
}

const sources = new Map(
  globSync('packages/**/*.{ts,tsx}', { cwd: root })
    .filter(file => !file.endsWith('.test.ts'))
    .map(file => [file, readFileSync(join(root, file), 'utf8')]),
);

test('no two files of packages export a type of the same name', () => {
  assert.ok(filesByName(sources).size > 500, `${filesByName(sources).size} types found`);
  assert.deepEqual(sharedNames(sources), []);
});

test('a second type of a name is noticed', () => {
  const planted = new Map([
    ...sources,
    ['packages/kube-client/src/planted.ts', 'export type EvictionPlan = string;\n'],
  ]);
  assert.ok(
    sharedNames(planted).includes(
      'EvictionPlan: packages/core/src/drain/plan.ts, packages/kube-client/src/planted.ts',
    ),
  );
});
