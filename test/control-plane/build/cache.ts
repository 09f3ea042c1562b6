import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { sweep } from '../folder.ts';
import { announced } from './progress.ts';

/** Something that tests need, that takes long to make and does not change. */
export type Wanted = {
  /** Of the folder in the user's cache. */
  readonly name: string;
  /**
   * Everything the result depends on, so that a changed pin or source is a new folder and an old
   * checkout still finds its own.
   */
  readonly key: string;
  /** Said before making it: what, and how long it takes. */
  readonly announcement: string;
  /** Makes it in a folder, which is moved to its place afterwards. */
  readonly make: (folder: string) => Promise<void>;
};

/** Where all of it is kept. */
export function cacheFolder(): string {
  const given = process.env['XDG_CACHE_HOME'];
  if (given !== undefined && given !== '') return join(given, 'drydock');
  return process.platform === 'darwin'
    ? join(homedir(), 'Library', 'Caches', 'drydock')
    : join(homedir(), '.cache', 'drydock');
}

/**
 * The rename is what makes two builders at once harmless, of which one does not wait, as those of
 * an older clone: the second finds the folder there and throws its own away.
 */
function publish(made: string, folder: string): void {
  try {
    renameSync(made, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(made, { recursive: true, force: true });
  }
}

function folderOf({ name, key }: Pick<Wanted, 'name' | 'key'>): string {
  return join(cacheFolder(), name, key);
}

/** Its folder, where it has been made before. */
export function cached(wanted: Pick<Wanted, 'name' | 'key'>): string | undefined {
  const folder = folderOf(wanted);
  return existsSync(folder) ? folder : undefined;
}

const building = 'building-';

/**
 * Longer than a tick of the clock of file systems, in milliseconds: what has the same birth time is
 * there by then.
 */
const tickMs = 25;

/**
 * Whether somebody else began earlier to make the same, and is still at it. Of those that began in
 * the same tick the first by name goes first.
 */
function isMadeElsewhere(temporary: string, key: string): boolean {
  const parent = dirname(temporary);
  sweep(parent, building);
  const begun = (name: string): bigint =>
    statSync(join(parent, name), { bigint: true, throwIfNoEntry: false })?.birthtimeNs ?? 0n;
  const [ownName, own] = [basename(temporary), begun(basename(temporary))];
  return readdirSync(parent).some(name => {
    const other = name.startsWith(building) && name.includes(`-${key}-`) ? begun(name) : 0n;
    return other > 0n && (other < own || (other === own && name < ownName));
  });
}

async function untilMade(temporary: string, key: string): Promise<void> {
  while (isMadeElsewhere(temporary, key)) await sleep(1000);
}

/**
 * Makes it and answers its folder. Test files run side by side: one of them makes it, the others
 * wait.
 */
export async function makeCached({ name, key, announcement, make }: Wanted): Promise<string> {
  const folder = folderOf({ name, key });
  const parent = join(cacheFolder(), name);
  mkdirSync(parent, { recursive: true });
  const temporary = mkdtempSync(join(parent, `${building}${process.pid}-${key}-`));
  try {
    await sleep(tickMs);
    if (isMadeElsewhere(temporary, key))
      await announced(`waiting for another process: ${announcement}`, () =>
        untilMade(temporary, key),
      );
    if (existsSync(folder)) return folder;
    await announced(`${announcement} into ${folder}`, () => make(temporary));
    publish(temporary, folder);
  } finally {
    rmSync(temporary, { recursive: true, force: true });
  }
  return folder;
}
