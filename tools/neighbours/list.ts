import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The tiers that run real systems, as `scripts/tiers.mjs` lists them, and the versions of those
 * systems.
 */

type System =
  | { readonly file: string; readonly module: string }
  | { readonly file: string; readonly python: string }
  | { readonly file: string; readonly debian: string }
  /** A package of Debian, on the machine that ran the tests. */
  | { readonly installed: string };

export type Neighbour = {
  readonly name: string;
  /** The test files. */
  readonly files: readonly string[];
  /** The command that runs it. */
  readonly asked: string;
  readonly systems: Readonly<Record<string, System>>;
};

type Tier = {
  readonly name: string;
  readonly files: readonly string[];
  readonly asked?: string;
  readonly neighbour?: { readonly systems: Neighbour['systems'] };
};

export const root = join(import.meta.dirname, '..', '..');

/**
 * All tiers; a list of JavaScript, because whatever runs the tests does so with an older Node too.
 */
export async function allTiers(): Promise<readonly Tier[]> {
  const list = (await import(join(root, 'scripts', 'tiers.mjs'))) as {
    readonly tiers: readonly Tier[];
  };
  return list.tiers;
}

/** Those with real systems, by name. */
export async function readNeighbours(): Promise<readonly Neighbour[]> {
  return (await allTiers())
    .flatMap(({ name, files, asked, neighbour }) =>
      asked === undefined || neighbour === undefined
        ? []
        : [{ name, files, asked, systems: neighbour.systems }],
    )
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

function escaped(text: string): string {
  return text.replaceAll(/[.+]/g, '\\$&');
}

function find(file: string, pattern: string): string {
  const [, version] = new RegExp(pattern, 'm').exec(readFileSync(join(root, file), 'utf8')) ?? [];
  if (version === undefined) throw new Error(`${file} has no version of ${pattern}`);
  return version;
}

function versionOf(system: System): string {
  if ('installed' in system)
    return execFileSync('dpkg-query', ['-W', '-f', '${Version}', system.installed], {
      encoding: 'utf8',
    });
  if ('module' in system)
    return find(
      system.file,
      `^(?:require |\\s)\\s*${escaped(system.module)} v(\\S+)(?: // indirect)?$`,
    );
  if ('python' in system)
    return find(system.file, `^${escaped(system.python)}(?:\\[[\\w,-]+\\])?==(\\S+)`);
  return find(system.file, `/${escaped(system.debian)}_([^_]+)_`);
}

/** What the systems of a tier are, and in which versions, on this machine. */
export function versionsOf({ systems }: Neighbour): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(systems).map(([name, system]) => [name, versionOf(system)]),
  );
}
