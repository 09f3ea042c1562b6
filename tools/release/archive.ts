import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { create } from 'tar';

/** npm's own date for what it packs: the same bytes whenever they are made. */
const mtime = new Date('1985-10-26T08:15:00Z');

/** Packs files of a folder into a .tar.gz: sorted, without owners and dates of this machine. */
export const pack = (file: string, folder: string, names: readonly string[]): void => {
  const tar = `${file}.tar`;
  create({ sync: true, file: tar, cwd: folder, portable: true, mtime, noDirRecurse: true }, [...names].sort());
  writeFileSync(file, gzipSync(readFileSync(tar), { level: 6 }));
  rmSync(tar);
};
