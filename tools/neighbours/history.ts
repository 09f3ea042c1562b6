import { spawnSync } from 'node:child_process';
import { root } from './list.ts';
import { type Age, recordsFile } from './records.ts';

/** What Git knows of this clone. Every answer is undefined where there is no Git, or no clone. */

function git(...args: readonly string[]): string | undefined {
  const { status, stdout, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  return error === undefined && status === 0 ? stdout.trim() : undefined;
}

function isWhole(): boolean {
  return git('rev-parse', '--is-shallow-repository') === 'false';
}

function countSince(commit: string): number | undefined {
  const count = git('rev-list', '--count', `${commit}..HEAD`);
  return count === undefined ? undefined : Number(count);
}

/** The commit of this history that first had the text in the records. */
function commitThatRecorded(text: string): string | undefined {
  return git('log', `-S${text}`, '--format=%H', '--', recordsFile)?.split('\n').at(-1) || undefined;
}

/**
 * Commits since that one. Where a merge squashed it or a rebase replaced it, its record is in this
 * history all the same: commits since that.
 * Lost where neither is.
 */
export function ageOf(commit: string): Age {
  if (git('merge-base', '--is-ancestor', commit, 'HEAD') !== undefined)
    return countSince(commit) ?? 'unknown';
  if (!isWhole()) return 'unknown';
  const recorded = commitThatRecorded(commit);
  return recorded === undefined ? 'lost' : (countSince(recorded) ?? 'unknown');
}

/** Commits since records are kept: what was never green has had so many of them. */
export function ageOfRecords(): Age {
  const first = isWhole()
    ? git('log', '--diff-filter=A', '--format=%H', '--', recordsFile)?.split('\n').at(-1)
    : undefined;
  return first === undefined || first === '' ? 'unknown' : ageOf(first);
}

/**
 * Commits since the last change of the records; without history, a number that differs from commit
 * to commit.
 */
export function commitsSinceRecorded(): number {
  const last = isWhole() ? git('log', '-1', '--format=%H', '--', recordsFile) : undefined;
  const count = last === undefined || last === '' ? undefined : countSince(last);
  return count ?? Number.parseInt(git('rev-parse', 'HEAD')?.slice(0, 8) ?? '0', 16);
}

/** What a record itself changes. */
const written = [recordsFile, 'docs/compatibility.md'];

/**
 * The commit that is checked out, as it is but for the records; undefined where anything else has
 * changed.
 */
export function cleanHead(): string | undefined {
  const changes = git('status', '--porcelain', '--', '.', ...written.map(file => `:!${file}`));
  return changes === '' ? git('rev-parse', 'HEAD') : undefined;
}
