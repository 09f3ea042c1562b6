import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { sizeOf, walks } from '../../tools/walk.ts';

/** A newcomer's walk through the code does not get longer unnoticed. */

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');

/** `| a NodeMaintenance | 60 | 404 | 11, 53 |` */
function documented(name: string): readonly number[] {
  const row = page.split('\n').find(line => line.startsWith(`| ${name} |`)) ?? '';
  return (row.match(/\d+/g) ?? []).map(Number);
}

/** Functions that a run may enter or not, by the order in which promises settle. */
const slack = 5;

test('the walks are as long as docs/architecture.md says', { timeout: 60_000 }, async () => {
  for (const walk of await walks()) {
    const { own, libraries } = sizeOf(walk);
    const seen = [own.files, own.functions, libraries.files, libraries.functions];
    const expected = documented(walk.name);
    const text = `${walk.name}: ${seen.join(', ')}; docs/architecture.md says ${expected.join(', ')}`;
    assert.equal(expected.length, seen.length, text);
    for (const [index, number] of seen.entries())
      assert.ok(Math.abs(number - (expected[index] ?? 0)) <= slack, text);
  }
});
