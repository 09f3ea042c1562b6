import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';

/** npm's own date for what it packs: the same bytes whenever they are made. */
const mtime = new Date('1985-10-26T08:15:00Z');

/**
 * Paths of all that is in a folder, relative to it, sorted; with `filesOnly` without the folders.
 * Links are listed and not followed, which a recursive `readdirSync` would do.
 */
export function below(folder: string, { filesOnly = false } = {}): readonly string[] {
  const within = (path: string): readonly string[] =>
    readdirSync(join(folder, path), { withFileTypes: true }).flatMap(entry => {
      const name = join(path, entry.name);
      const isListed = !filesOnly || entry.isFile();
      return [...(isListed ? [name] : []), ...(entry.isDirectory() ? within(name) : [])];
    });
  return within('').toSorted();
}

/** A tar of files of a folder: sorted, without owners and dates of this machine. */
export function tarOf(folder: string, names: readonly string[]): Buffer {
  const file = `${folder.replace(/\/$/, '')}.tar`;
  create(
    { sync: true, file, cwd: folder, portable: true, mtime, noDirRecurse: true },
    [...names].sort(),
  );
  const bytes = readFileSync(file);
  rmSync(file);
  return bytes;
}

/** Compresses it, the same each time. */
export function gzipped(bytes: Buffer): Buffer {
  return gzipSync(bytes, { level: 6 });
}

/** Packs files of a folder into a .tar.gz. */
export function pack(file: string, folder: string, names: readonly string[]): void {
  writeFileSync(file, gzipped(tarOf(folder, names)));
}
