import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';

/**
 * No image is built by the tests; what its Containerfile runs of Drydock is run here, with nothing
 * but what it copies.
 */

const root = join(import.meta.dirname, '..', '..');
function read(file: string): readonly string[] {
  return readFileSync(join(root, file), 'utf8').split('\n');
}
const copied = read('Containerfile').flatMap(
  line => /^COPY (?!--)(.+) \S+$/.exec(line)?.[1]?.split(' ') ?? [],
);
const allowed = read('.dockerignore').flatMap(line => /^!(.+)$/.exec(line)?.[1] ?? []);
const commands = read('Containerfile').flatMap(
  line => /^RUN node (.+) \/drydock$/.exec(line)?.[1] ?? [],
);

function isLeftOut(path: string): boolean {
  return path.endsWith('.test.ts') || basename(path) === 'testing';
}

function hashesIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .sort()
    .map(
      path =>
        `${createHash('sha256').update(readFileSync(path)).digest('hex')} ${path.slice(folder.length)}`,
    );
}

/** What `npm ci` makes in a clone: the packages of others, and links to its own. */
function linkPackages(clone: string): void {
  const folder = join(clone, 'node_modules');
  mkdirSync(join(folder, '@drydock'), { recursive: true });
  const others = readdirSync(join(root, 'node_modules')).filter(name => name !== '@drydock');
  for (const name of others) symlinkSync(join(root, 'node_modules', name), join(folder, name));
  for (const name of readdirSync(join(clone, 'packages')))
    symlinkSync(join('..', '..', 'packages', name), join(folder, '@drydock', name));
}

test('the container engine gets exactly what it copies', () =>
  assert.deepEqual([...copied].sort(), [...allowed].sort()));

test('what it copies is enough for the program that is released, byte for byte; it starts, and writes nothing', () => {
  const [command = ''] = commands;
  const folder = mkdtempSync(join(tmpdir(), 'drydock-containerfile-'));
  const clone = join(folder, 'clone');
  try {
    for (const path of copied)
      cpSync(join(root, path), join(clone, path), {
        recursive: true,
        filter: source => !isLeftOut(source),
      });
    linkPackages(clone);
    const env = {
      PATH: `${dirname(process.execPath)}:/usr/bin:/bin`,
      HOME: '/dev/null',
      TMPDIR: '/dev/null',
    };
    const run = (cwd: string, ...args: readonly string[]) =>
      spawnSync(process.execPath, args, { cwd, encoding: 'utf8', env });
    for (const [from, to] of [
      [clone, 'made'],
      [root, 'released'],
    ] as const) {
      const { status, stderr } = run(from, command, join(folder, to));
      assert.equal(status, 0, stderr);
    }
    const made = hashesIn(join(folder, 'made'));
    assert.deepEqual(made, hashesIn(join(folder, 'released')));
    // Nothing can be made in /dev/null: it stands for a file system that takes no files.
    const { status, stderr } = run(
      join(folder, 'made'),
      'packages/cli/src/main.mjs',
      'operator',
      '--kubeconfig',
      '/dev/null',
    );
    assert.deepEqual([status, stderr.split('\n').length], [2, 2], stderr);
    assert.deepEqual(hashesIn(join(folder, 'made')), made);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
