import {
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';

const prefix = 'drydock-control-plane-';
function keep(): boolean {
  return process.env['DRYDOCK_TEST_KEEP'] === '1';
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Removes folders named PREFIX, number of a process, dash, anything, whose process is no more: one
 * that was killed could not clean up behind itself, so the next one does.
 */
export function sweep(parent: string, prefix: string): void {
  for (const name of readdirSync(parent)) {
    const owner = name.startsWith(prefix)
      ? Number(name.slice(prefix.length).split('-')[0])
      : Number.NaN;
    if (owner > 0 && !isAlive(owner)) rmSync(join(parent, name), { recursive: true, force: true });
  }
}

/** Of a log, the end is what tells why something failed; audit logs have gigabytes. */
const maxOfLog = 20 * 1024 * 1024;

function copyEnd(from: string, to: string): void {
  const file = openSync(from, 'r');
  try {
    const { size } = fstatSync(file);
    const kept = Buffer.alloc(Math.min(size, maxOfLog));
    const read = readSync(file, kept, 0, kept.length, size - kept.length);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, kept.subarray(0, read));
  } finally {
    closeSync(file);
  }
}

/** For the run of the tier, which keeps them where its tests fail. */
function saveLogs(path: string, logs: string): void {
  const files = readdirSync(path, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  for (const { name, parentPath } of files.filter(
    one => one.isFile() && one.name.endsWith('.log'),
  )) {
    const from = join(parentPath, name);
    // What still runs may have turned its log over since.
    if (existsSync(from)) copyEnd(from, join(logs, basename(path), relative(path, from)));
  }
}

export type Folder = { readonly path: string; remove(): void };

/**
 * A folder for one control plane. `DRYDOCK_TEST_KEEP=1` leaves it, with all its logs, under a name
 * that is never swept; of others the logs are handed to the run of the tier, in the folder that
 * `DRYDOCK_TEST_LOGS` names.
 */
export function makeFolder(): Folder {
  sweep(tmpdir(), prefix);
  const logs = process.env['DRYDOCK_TEST_LOGS'] ?? '';
  const path = mkdtempSync(join(tmpdir(), keep() ? 'drydock-kept-' : `${prefix}${process.pid}-`));
  const remove = (): void => {
    process.off('exit', remove);
    // Whoever stops what has been stopped already finds nothing to hand on.
    if (!existsSync(path)) return;
    if (keep()) return void process.stderr.write(`drydock: kept ${path}\n`);
    if (logs !== '') saveLogs(path, logs);
    rmSync(path, { recursive: true, force: true, maxRetries: 3 });
  };
  process.once('exit', remove);
  return { path, remove };
}
