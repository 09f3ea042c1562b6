import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';

const root = join(import.meta.dirname, '..', '..');
const page = readFileSync(join(root, 'docs', 'known-reports.md'), 'utf8');
const rows = page
  .split('\n')
  .filter(line => line.startsWith('| ') && !line.startsWith('| what happens |'))
  .map(line => line.slice(2, -2).split(' | '));

const link =
  /^\[([^\]#]+)#(\d+)\]\(https:\/\/github\.com\/[\w.-]+\/([\w.-]+)\/(?:issues|pull)\/(\d+)\)$/;

test('every row of the known reports has what people reported, since when it is right, and tests that are there', () => {
  assert.ok(rows.length > 20);
  for (const [what = '', reports = '', before = '', since = '', held = '', ...more] of rows) {
    assert.deepEqual(more, [], what);
    assert.ok(what !== '' && before !== '', what);
    assert.match(since, /^20\d\d-[01]\d-[0-3]\d$/, what);
    for (const report of reports === 'none found' ? [] : reports.split(', ')) {
      const [, name, number, repository, same] = link.exec(report) ?? [];
      assert.ok(
        name !== undefined && name === repository && number === same,
        `${what}: ${report} is no link to an issue or a pull request`,
      );
    }
    const tests = [...held.matchAll(/`([^`]+)`/g)].map(([, path = '']) => path);
    assert.ok(tests.length > 0, what);
    for (const path of tests)
      assert.ok(
        path.endsWith('.test.ts') && existsSync(join(root, path)),
        `${what}: ${path} is no test`,
      );
  }
});
