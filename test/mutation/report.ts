import { bounds, roomOf } from './choose.ts';
import type { Result } from './hunt.ts';
import { titleOf } from './schemata.ts';

/**
 * A fault that no unit test notices, and why that is right: found again by its file and its text,
 * wherever its line has moved.
 */
export type Accepted = { readonly file: string; readonly fault: string; readonly reason: string };

export type Figures = {
  readonly room: string;
  readonly killed: number;
  readonly total: number;
  readonly percent: number;
  readonly bound: number;
};

export function isKilled({ outcome }: Result): boolean {
  return outcome !== 'survives' && outcome !== 'unreached';
}

export function figuresOf(results: readonly Result[]): readonly Figures[] {
  return Object.entries(bounds).flatMap(([room, bound]) => {
    const all = results.filter(({ mutant }) => roomOf(mutant.file) === room);
    const killed = all.filter(isKilled).length;
    return all.length === 0
      ? []
      : [{ room, killed, total: all.length, percent: (100 * killed) / all.length, bound }];
  });
}

function reasonOf({ mutant }: Result, accepted: readonly Accepted[]): string | undefined {
  return accepted.find(({ file, fault }) => file === mutant.file && fault === titleOf(mutant))
    ?.reason;
}

/**
 * Faults that are accepted and are noticed all the same, or are not there any more. Only what has
 * been tried can be told.
 */
export function outdated(
  results: readonly Result[],
  accepted: readonly Accepted[],
): readonly Accepted[] {
  const tried = new Set(results.map(({ mutant }) => mutant.file));
  const alive = new Set(
    results
      .filter(result => !isKilled(result))
      .map(({ mutant }) => `${mutant.file} ${titleOf(mutant)}`),
  );
  return accepted.filter(({ file, fault }) => tried.has(file) && !alive.has(`${file} ${fault}`));
}

/** The survivors, in the order of the code, each with the reason where there is one. */
export function survivorsOf(
  results: readonly Result[],
  accepted: readonly Accepted[],
): readonly string[] {
  return results
    .filter(result => !isKilled(result))
    .toSorted(
      (a, b) => a.mutant.file.localeCompare(b.mutant.file) || a.mutant.start - b.mutant.start,
    )
    .map(result => {
      const { mutant, outcome } = result;
      const reason =
        reasonOf(result, accepted) ??
        (outcome === 'unreached' ? 'no unit test comes by it' : 'no reason yet');
      return `${mutant.file}:${mutant.line}  ${titleOf(mutant)}\n    ${mutant.kind}; ${reason}`;
    });
}

/** `core/phase: 84 of 90 (93.3 %)`, a line for each folder. */
export function foldersOf(results: readonly Result[]): readonly string[] {
  const folders = Map.groupBy(results, ({ mutant }) =>
    mutant.file.split('/').slice(1, -1).join('/'),
  );
  return [...folders]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(([folder, all]) => {
      const killed = all.filter(isKilled).length;
      return `${folder}: ${killed} of ${all.length} (${((100 * killed) / all.length).toFixed(1)} %)`;
    });
}
