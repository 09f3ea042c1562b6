import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

/**
 * docs/nova.md promises a test for each row of its table: the promise is kept as long as these
 * tests exist under their titles.
 */

const root = join(import.meta.dirname, '..', '..');
function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

const files: Readonly<Record<string, string>> = {
  'hypervisor-reconciler': read('packages/openstack/src/hypervisor-reconciler.test.ts'),
  client: read('packages/openstack/src/client.test.ts'),
  config: read('packages/openstack/src/config/config.test.ts'),
  match: read('packages/core/src/hypervisor/match.test.ts'),
  server: read('packages/core/src/hypervisor/decide.test.ts'),
  drainer: read('packages/cli/src/nova/nova.test.ts'),
  daemon: read('packages/cli/src/nova/daemon.test.ts'),
};

/** What comes before a colon is put there by the test file for each row of its table. */
function titleOf(title: string): string {
  return title.replace(/^node and hypervisor: /, '');
}

test('every test that docs/nova.md names exists, and every weakness has one', () => {
  const rows = read('docs/nova.md')
    .split('\n')
    .filter(line => /^\| N\d+ /.test(line));
  assert.equal(rows.length, 13);
  for (const row of rows) assert.match(row, /[|>] ?[a-z-]+: `/);
  const references = [...read('docs/nova.md').matchAll(/(?<=[|>] ?)([a-z-]+): `([^`]+)`/g)];
  assert.ok(references.length > 20);
  for (const [, file = '', title = ''] of references)
    assert.ok(files[file]?.includes(titleOf(title)), `${file}: ${title}`);
});
