import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readNeighbours, root } from '../../tools/neighbours/list.ts';
import type { GreenRun, Records } from '../../tools/neighbours/records.ts';

/** What is known of green runs depends on the clone: whole, without its history, with changes. */

const folder = mkdtempSync(join(tmpdir(), 'drydock-history-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const neighbours = await readNeighbours();
function git(cwd: string, ...args: readonly string[]): string {
  return execFileSync('git', args, { cwd, encoding: 'utf8' }).trim();
}

/** Whoever installs from an archive has no history to ask. */
const skip =
  spawnSync('git', ['rev-parse', '--is-shallow-repository'], { cwd: root, encoding: 'utf8' })
    .stdout !== 'false\n' && 'no whole clone';

function clone(name: string, ...args: readonly string[]): string {
  const to = join(folder, name);
  git(folder, 'clone', '--quiet', ...args, `file://${root}`, to);
  return to;
}

function all(commit: string): Records {
  const run: GreenRun = { commit, date: '2026-11-27', passed: 1, seconds: 1, versions: {} };
  return Object.fromEntries(neighbours.map(({ name }) => [name, run]));
}

function ask(cwd: string, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(cwd, 'tools', 'neighbours', 'main.ts'), ...args],
    {
      encoding: 'utf8',
    },
  );
  return { status, stdout: stdout.trim(), stderr };
}

function checkWith(cwd: string, records: Records) {
  writeFileSync(join(cwd, 'test', 'neighbours.json'), JSON.stringify(records));
  return ask(cwd, 'check');
}

test('a whole clone knows how old a run is, and whose turn it is', { skip }, () => {
  const cwd = clone('whole');
  const head = git(cwd, 'rev-parse', 'HEAD');
  assert.deepEqual(checkWith(cwd, all(head)), { status: 0, stdout: '', stderr: '' });
  const old = checkWith(
    cwd,
    all(git(cwd, 'rev-list', '--max-parents=0', 'HEAD').split('\n')[0] ?? ''),
  );
  assert.equal(old.status, 1);
  assert.match(
    old.stderr,
    /^the tier nova was last green \d{3,} commits ago, and counts for 150: npm run test:nova on a clean checkout/m,
  );
  assert.match(
    checkWith(cwd, all('0'.repeat(40))).stderr,
    /^the tier nova was green on a commit that is not in the history of this branch/m,
  );
  const turn = ask(cwd, 'turn');
  assert.ok(
    neighbours.some(({ name }) => name === turn.stdout),
    turn.stdout,
  );
});

test('a run whose commit was squashed is as old as its record', { skip }, () => {
  const cwd = clone('squashed');
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.test'];
  git(cwd, 'checkout', '--quiet', '-b', 'work');
  git(cwd, ...author, 'commit', '--quiet', '--allow-empty', '-m', 'work: one');
  const worked = git(cwd, 'rev-parse', 'HEAD');
  writeFileSync(join(cwd, 'test', 'neighbours.json'), JSON.stringify(all(worked)));
  git(cwd, ...author, 'commit', '--quiet', '--all', '-m', 'work: recorded');
  git(cwd, 'checkout', '--quiet', '-b', 'merged', 'work~2');
  git(cwd, 'merge', '--quiet', '--squash', 'work');
  assert.match(
    ask(cwd, 'check').stderr,
    /^the tier nova was green on a commit that is not in the history of this branch/m,
  );
  git(cwd, ...author, 'commit', '--quiet', '-m', 'work: squashed');
  assert.deepEqual(ask(cwd, 'check'), { status: 0, stdout: '', stderr: '' });
  for (let count = 0; count <= 150; count += 1)
    git(cwd, ...author, 'commit', '--quiet', '--allow-empty', '-m', 'later: on');
  assert.match(ask(cwd, 'check').stderr, /^the tier nova was last green 151 commits ago/m);
});

test('a clone without its history says that it does not know', { skip }, () => {
  const cwd = clone('shallow', '--depth=1');
  const { status, stdout } = checkWith(cwd, all(git(root, 'rev-parse', 'HEAD~1')));
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^!! not known in a clone without its history: whether integrations, .*upgrade were green lately$/,
  );
  assert.equal(checkWith(cwd, all(git(root, 'rev-parse', 'HEAD'))).stdout, '');
});

test('a run is of what is committed: of changes only those that a record makes do not count', {
  skip,
}, () => {
  const cwd = clone('changed');
  const head = git(cwd, 'rev-parse', 'HEAD');
  assert.equal(ask(cwd, 'state').stdout, head);
  for (const file of ['test/neighbours.json', 'docs/compatibility.md'])
    appendFileSync(join(cwd, file), '\n');
  assert.equal(ask(cwd, 'state').stdout, head);
  writeFileSync(join(cwd, 'packages', 'new.ts'), '');
  assert.equal(ask(cwd, 'state').stdout, '');
  assert.match(
    ask(cwd, 'record', 'olm', '16', '60', head).stdout,
    /^olm: green, and not recorded, for something here is not committed$/,
  );
});

test('a green run is recorded with the versions that it had, and shown in the document', {
  skip,
}, () => {
  const cwd = clone('recorded');
  const head = git(cwd, 'rev-parse', 'HEAD');
  assert.match(
    ask(cwd, 'record', 'olm', '16', '60', head).stdout,
    /^olm: recorded in .*"passed":16,"seconds":60,"versions":\{"OLM 0":"\d/,
  );
  assert.match(
    git(cwd, 'diff', '--', 'docs/compatibility.md'),
    new RegExp(
      `^\\+\\| \`olm\` \\| OLM 0 [\\d.]+, .* \\| \`${head.slice(0, 8)}\` \\| 16 in 1 min \\|`,
      'm',
    ),
  );
  assert.equal(ask(cwd, 'state').stdout, head);
});
