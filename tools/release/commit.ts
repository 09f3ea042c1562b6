import { spawnSync } from 'node:child_process';
import { root } from './paths.ts';

function git(...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0)
    throw new Error(
      `the commit that is released cannot be read: git ${args[0] ?? ''}: ${error?.message ?? stderr}`,
    );
  return stdout.trim();
}

/** The commit of which a release is made. Throws where git does not know one. */
export const commit = {
  hash: (): string => git('rev-parse', 'HEAD'),
  /** The time of a build would say nothing that is the same next time. */
  time: (): Temporal.Instant => Temporal.Instant.from(git('log', '-1', '--format=%cI')),
  /** Whether the clone has changes that are in no commit. */
  isChanged: (): boolean => git('status', '--porcelain') !== '',
} as const;
