import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parseSync } from 'oxc-parser';

/**
 * Lines have at most 100 columns, comments too, which the formatter does not wrap. What cannot be
 * broken may be longer: texts, patterns, and directives for the linter.
 */

const root = join(import.meta.dirname, '..', '..');
const width = 100;

type Span = { readonly start: number; readonly end: number };

const unbreakable = new Set(['Literal', 'TemplateElement', 'JSXText']);

function textsIn(node: unknown, found: Span[] = []): readonly Span[] {
  if (Array.isArray(node)) for (const one of node) textsIn(one, found);
  else if (typeof node === 'object' && node !== null) {
    const { type, start, end } = node as { readonly type?: string } & Span;
    if (type !== undefined && unbreakable.has(type)) found.push({ start, end });
    for (const value of Object.values(node)) textsIn(value, found);
  }
  return found;
}

function longLines(file: string, text: string): readonly string[] {
  const lines = text.split('\n');
  if (lines.every(line => line.length <= width)) return [];
  const texts = textsIn(parseSync(file, text).program);
  let at = 0;
  return lines.flatMap((line, index) => {
    const start = at;
    at += line.length + 1;
    const isText = texts.some(
      span => span.start < start + line.length && span.end > start + width / 2,
    );
    if (line.length <= width || isText || /oxlint-disable|^\s*\/\/ https?:/.test(line)) return [];
    return [`${file}:${index + 1}`];
  });
}

test('no line is longer than 100 columns, unless a text is', () => {
  const files = globSync('{packages,test,bench,tools,scripts}/**/*.{ts,tsx,mjs}', { cwd: root });
  assert.ok(files.length > 1000, `${files.length} files`);
  const isOurs = (file: string): boolean => !/node_modules|packages\/dashboard\/assets/.test(file);
  assert.deepEqual(
    files.filter(isOurs).flatMap(file => longLines(file, readFileSync(join(root, file), 'utf8'))),
    [],
  );
});

test('a long comment is noticed, and a long text is not', () => {
  const long = 'word '.repeat(30);
  assert.deepEqual(longLines('a.ts', `// ${long}\nconst a = 1;\n`), ['a.ts:1']);
  assert.deepEqual(longLines('a.ts', `const a = f(b, '${long}');\n`), []);
});
