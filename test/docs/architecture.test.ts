import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/**
 * docs/architecture.md leads newcomers through the code by file and function: both have to be
 * there.
 */

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');

/** `path/to/file.ts`, `name`: as a step of the path names a file and what is exported from it. */
const named = [...text.matchAll(/`([a-z/-]+\.ts)`, `(\w+)`/g)].map(([, file = '', name = '']) => ({
  file,
  name,
}));

test('each of the ten steps on the path of a NodeMaintenance names a file and something that it exports', () => {
  const path = text.slice(0, text.indexOf('## Rules of the flow'));
  assert.equal(path.match(/^\d+\. `[a-z/-]+\.ts`, `\w+`: /gm)?.length, 10);
  for (const { file, name } of named) {
    const source = readFileSync(join(root, 'packages', file), 'utf8');
    assert.match(
      source,
      new RegExp(`^export (const|(async )?function|class|abstract class) ${name}\\b`, 'm'),
      `${file} exports no ${name}`,
    );
  }
});

test('every file and folder of packages that the page names exists', () => {
  const files = [...text.matchAll(/`((?:[a-z-]+\/)+(?:[a-z-]+\.ts)?)`/g)].map(
    ([, file = '']) => file,
  );
  assert.ok(files.length > 30, `${files.length} files and folders found`);
  const isThere = (file: string): boolean =>
    existsSync(join(root, file)) ||
    globSync(`packages/**/${file.replace(/\/$/, '')}`, { cwd: root }).length > 0;
  assert.deepEqual(
    files.filter(file => !isThere(file)),
    [],
  );
});

test('every type and function of the glossary is in the code', () => {
  const glossary = text.slice(text.indexOf('## Words'), text.indexOf('## Dependencies'));
  const meanings = glossary.split('\n').flatMap(line => line.split('|')[2] ?? []);
  const types = meanings.flatMap(meaning =>
    [...meaning.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => name),
  );
  assert.ok(types.length > 10, `${types.length} types found`);
  const source = globSync('packages/*/src/**/*.ts', { cwd: root })
    .map(file => readFileSync(join(root, file), 'utf8'))
    .join('\n');
  assert.deepEqual(
    types.filter(
      name =>
        !new RegExp(`^export (type|class|interface) ${name}\\b|kind: '${name}'`, 'm').test(source),
    ),
    [],
  );
});
