import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'drydock-control-plane-';
const keep = (): boolean => process.env['DRYDOCK_TEST_KEEP'] === '1';

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/**
 * Removes folders named PREFIX, number of a process, dash, anything, whose process is no more: one that was killed could not clean up
 * behind itself, so the next one does.
 */
export const sweep = (parent: string, prefix: string): void => {
  for (const name of readdirSync(parent)) {
    const owner = name.startsWith(prefix) ? Number(name.slice(prefix.length).split('-')[0]) : Number.NaN;
    if (owner > 0 && !isAlive(owner)) rmSync(join(parent, name), { recursive: true, force: true });
  }
};

export type Folder = { readonly path: string; remove(): void };

/** A folder for one control plane. `DRYDOCK_TEST_KEEP=1` leaves it, with all its logs, under a name that is never swept. */
export const makeFolder = (): Folder => {
  sweep(tmpdir(), prefix);
  const path = mkdtempSync(join(tmpdir(), keep() ? 'drydock-kept-' : `${prefix}${process.pid}-`));
  const remove = (): void => {
    process.off('exit', remove);
    if (keep()) process.stderr.write(`drydock: kept ${path}\n`);
    else rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once('exit', remove);
  return { path, remove };
};
