import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';

/** No image is built by the tests; what its Containerfile runs of Drydock is run here. */

const root = join(import.meta.dirname, '..', '..');
const containerfile = readFileSync(join(root, 'Containerfile'), 'utf8');
const own = [...containerfile.matchAll(/^RUN (node .*)$/gm)].map(([, command = '']) => command);

const filesIn = (folder: string): readonly string[] => readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();

test('what the image compiles beforehand is what its operator loads, and it writes nothing', () => {
  assert.equal(own.length, 2);
  const compiled = mkdtempSync(join(tmpdir(), 'drydock-compiled-'));
  // Nothing can be made in /dev/null: it stands for a file system that takes no files.
  const env = { PATH: `${dirname(process.execPath)}:/usr/bin:/bin`, HOME: '/dev/null', TMPDIR: '/dev/null', NODE_COMPILE_CACHE: compiled };
  const run = (command: string) => spawnSync('sh', ['-c', command], { cwd: root, encoding: 'utf8', env });
  try {
    for (const command of own) assert.equal(run(command).status, 0, command);
    const before = filesIn(compiled);
    assert.ok(before.length > 300, `${before.length} files`);
    chmodSync(compiled, 0o555);
    const { status, stderr } = run('node src/main.mjs operator --kubeconfig /dev/null');
    assert.deepEqual([status, stderr.split('\n').length], [2, 2], stderr);
    assert.deepEqual(filesIn(compiled), before);
    const without = spawnSync(process.execPath, ['src/main.mjs', 'operator', '--kubeconfig', '/dev/null'], {
      cwd: root,
      encoding: 'utf8',
      env: { HOME: '/dev/null', TMPDIR: '/dev/null' },
    });
    assert.deepEqual([without.status, without.stderr], [2, stderr], 'and it starts where there is neither');
  } finally {
    rmSync(compiled, { recursive: true });
  }
});
