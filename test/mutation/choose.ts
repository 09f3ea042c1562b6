import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

/**
 * The packages whose faults the unit tests have to notice, each with the part of them, in percent.
 */
export const bounds: Readonly<Record<string, number>> = { core: 85, operator: 75 };

export function roomOf(file: string): string {
  return file.split('/')[1] ?? '';
}

/**
 * What can have faults planted: the code of these rooms, but not the tests and what only they use.
 */
export function isPlantable(file: string): boolean {
  return (
    file.startsWith('packages/') &&
    file.endsWith('.ts') &&
    !file.endsWith('.test.ts') &&
    !file.includes('/testing/') &&
    roomOf(file) in bounds
  );
}

function git(root: string, ...args: readonly string[]): readonly string[] {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8' });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.trim()}`);
  return stdout.split('\n').filter(line => line !== '');
}

/** Where this branch comes from; on main itself, the commit before. */
export function defaultBase(root: string): string {
  return git(root, 'branch', '--show-current')[0] === 'main' ? 'HEAD~1' : 'main';
}

/** What has been changed since this branch left `base`, committed or not. */
export function changedSince(root: string, base: string): readonly string[] {
  const [from = base] = git(root, 'merge-base', base, 'HEAD');
  return [
    ...git(root, 'diff', '--name-only', '--diff-filter=d', from),
    ...git(root, 'ls-files', '--others', '--exclude-standard'),
  ];
}

/** The files that a word of the command line means: a file, or all in a folder. */
export function filesAt(root: string, place: string): readonly string[] {
  const trimmed = place.replace(/\/+$/, '');
  return globSync([trimmed, `${trimmed}/**/*.ts`], { cwd: root }).map(file =>
    file.replaceAll('\\', '/'),
  );
}

/** Always the same ones for a seed (mulberry32): a figure can be had again. */
function dice(seed: number) {
  let state = seed;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export function sampleOf<T>(all: readonly T[], size: number, seed: number): readonly T[] {
  const throwDice = dice(seed);
  return all
    .map(one => [throwDice(), one] as const)
    .toSorted(([a], [b]) => a - b)
    .slice(0, size)
    .map(([, one]) => one);
}
