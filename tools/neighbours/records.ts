import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Neighbour, root } from './list.ts';

/**
 * When each tier of real systems was last green: `test/neighbours.json`, written after such a run,
 * and what follows from it.
 */

export type GreenRun = {
  readonly commit: string;
  /** Of the run, UTC. */
  readonly date: string;
  readonly passed: number;
  /** Of the tests, without what had to be built. */
  readonly seconds: number;
  readonly versions: Readonly<Record<string, string>>;
};

export type Records = Readonly<Record<string, GreenRun>>;

export const recordsFile = 'test/neighbours.json';

export function readRecords(): Records {
  return JSON.parse(readFileSync(join(root, recordsFile), 'utf8')) as Records;
}

export function writeRecords(records: Records): void {
  const sorted = Object.fromEntries(
    Object.entries(records).toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
  writeFileSync(join(root, recordsFile), `${JSON.stringify(sorted, undefined, 2)}\n`);
}

/**
 * Commits since a run: unknown where the clone has no history that far back, lost where it has all
 * history, and neither this commit nor its record is in it.
 */
export type Age = number | 'unknown' | 'lost';

/** Commits after which what a tier has shown counts no more. */
export const maxCommits = 150;

type Freshness = {
  readonly name: string;
  readonly asked: string;
  readonly isNew: boolean;
  readonly age: Age;
};

/** How long ago each was green; of those that never were, since when it is recorded at all. */
export function freshnessOf(
  neighbours: readonly Pick<Neighbour, 'name' | 'asked'>[],
  records: Records,
  ageOf: (commit: string) => Age,
  begun: Age,
): readonly Freshness[] {
  return neighbours.map(({ name, asked }) => {
    const run = records[name];
    return {
      name,
      asked,
      isNew: run === undefined,
      age: run === undefined ? begun : ageOf(run.commit),
    };
  });
}

/** Tiers that a text rests on: it names each as ``tier `nodes` ``, or the command that runs it. */
export function claimedTiers(
  text: string,
  neighbours: readonly Pick<Neighbour, 'name' | 'asked'>[],
): ReadonlySet<string> {
  const lists = [...text.matchAll(/\btiers? ((?:`[^`]+`(?:, | and )?)+)/g)].map(
    ([, list = '']) => list,
  );
  const isNamed = (name: string): boolean => lists.some(list => list.includes(`\`${name}\``));
  return new Set(
    neighbours
      .filter(({ name, asked }) => isNamed(name) || text.includes(asked))
      .map(({ name }) => name),
  );
}

function remedyOf({ name, asked }: Freshness): string {
  const run = asked === 'npm run test:versions' ? `npm test -- '${name}'` : asked;
  return `${run} on a clean checkout, then commit what it records`;
}

function saysOf({ age, isNew }: Freshness): string {
  if (age === 'lost') return 'was green on a commit that is not in the history of this branch';
  if (isNew)
    return `has not been green since that is recorded, ${age} commits ago, and has ${maxCommits}`;
  return `was last green ${age} commits ago, and counts for ${maxCommits}`;
}

/** What is wrong with the claims of documents, and what is to be said of them, a line each. */
type Judgement = { readonly problems: readonly string[]; readonly remarks: readonly string[] };

export function judge(all: readonly Freshness[], claimed: ReadonlySet<string>): Judgement {
  const own = all.filter(({ name }) => claimed.has(name));
  const isOld = ({ age }: Freshness): boolean =>
    age === 'lost' || (typeof age === 'number' && age > maxCommits);
  const unknown = own.filter(({ age }) => age === 'unknown').map(({ name }) => name);
  const unseen = own.filter(one => one.isNew && typeof one.age === 'number' && !isOld(one));
  const line = (one: Freshness): string => `the tier ${one.name} ${saysOf(one)}: ${remedyOf(one)}`;
  return {
    problems: own.filter(isOld).map(line),
    remarks: [
      ...unseen.map(line),
      ...(unknown.length > 0
        ? [
            `not known in a clone without its history: whether ${unknown.join(', ')} were green lately`,
          ]
        : []),
    ],
  };
}

function rank({ isNew, age }: Freshness): number {
  if (isNew || age === 'lost') return Number.POSITIVE_INFINITY;
  return age === 'unknown' ? -1 : age;
}

/**
 * Whose turn it is: the one that was green longest ago, right after something was recorded, and
 * another one with each commit since. CI cannot commit what it has seen: it would run the same one
 * for ever otherwise.
 */
export function turnOf(all: readonly Freshness[], commitsSinceRecorded: number): string {
  const byName = all.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  const oldestFirst = byName.toSorted((one, other) =>
    rank(one) === rank(other) ? 0 : rank(other) - rank(one),
  );
  const chosen = oldestFirst[commitsSinceRecorded % oldestFirst.length];
  if (chosen === undefined) throw new Error('no tier has a neighbour');
  return chosen.name;
}
