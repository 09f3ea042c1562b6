import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

/** Subjects of commits, from the one on that brought this rule. */

const root = join(import.meta.dirname, '..', '..');
const maxLength = 72;

function git(...args: readonly string[]): readonly string[] | undefined {
  const { status, stdout } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return status === 0 ? stdout.split('\n').filter(line => line !== '') : undefined;
}

const [first] =
  git('log', '--diff-filter=A', '--format=%H', '--', 'test/docs/commits.test.ts') ?? [];
const isWhole = git('rev-parse', '--is-shallow-repository')?.[0] === 'false';
const skip =
  isWhole && first !== undefined
    ? false
    : 'this clone has no history, or this rule is not committed yet';

test(`the subject of a commit says "area: what", in at most ${maxLength} characters`, {
  skip,
}, () => {
  const subjects = git('log', '--no-merges', '--format=%s', `${first}..HEAD`) ?? [];
  const wrong = subjects.filter(
    subject => subject.length > maxLength || !/^[a-z0-9][a-z0-9 ,./-]*: \S/.test(subject),
  );
  assert.deepEqual(wrong, []);
});
