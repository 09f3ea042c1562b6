import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cache } from '../paths.ts';

/**
 * Packages of Debian, each by its hash: fetched once, kept, and unpacked without being installed.
 * For the image, and for the nodes of the tests.
 */

export type DebianFile = { readonly path: string; readonly sha256: string };

const downloads = join(cache, 'debian');

/**
 * The archives of Debian that this machine installs from; DRYDOCK_DEBIAN_MIRROR names another one.
 */
function mirrors(): readonly string[] {
  const named = process.env['DRYDOCK_DEBIAN_MIRROR'];
  if (named !== undefined) return [named];
  const { status, stdout, stderr, error } = spawnSync(
    'apt-get',
    ['indextargets', '--format', '$(REPO_URI)'],
    { encoding: 'utf8' },
  );
  if (status !== 0) {
    const why = error?.message ?? stderr.trim();
    throw new Error(
      `apt-get names no archive of Debian (${why}): run this on Debian 12, or name an archive of Debian 12 in DRYDOCK_DEBIAN_MIRROR`,
    );
  }
  return [...new Set(stdout.trim().split('\n'))].sort();
}

async function fetched(path: string, list: string): Promise<Buffer> {
  const failures: string[] = [];
  for (const mirror of mirrors()) {
    try {
      const response = await fetch(new URL(path, mirror.endsWith('/') ? mirror : `${mirror}/`), {
        signal: AbortSignal.timeout(60_000),
      });
      if (response.ok) return Buffer.from(await response.arrayBuffer());
      failures.push(`${mirror}: ${response.status}`);
    } catch (error) {
      failures.push(`${mirror}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(
    `${path} cannot be fetched (${failures.join(', ')}): name another version in ${list}`,
  );
}

async function kept({ path, sha256 }: DebianFile, list: string): Promise<string> {
  const file = join(downloads, `${sha256}-${basename(path)}`);
  if (existsSync(file)) return file;
  const bytes = await fetched(path, list);
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (hash !== sha256) throw new Error(`${path} is not what ${list} names: its hash is ${hash}`);
  mkdirSync(downloads, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, bytes);
  renameSync(`${file}.${process.pid}`, file);
  return file;
}

/** Unpacks all of them into a folder. `list` is the file that names them, for messages. */
export async function unpackPackages(
  files: readonly DebianFile[],
  folder: string,
  list: string,
): Promise<void> {
  for (const one of files) {
    const { status, stderr, error } = spawnSync(
      'dpkg-deb',
      ['--extract', await kept(one, list), folder],
      { encoding: 'utf8' },
    );
    if (status !== 0)
      throw new Error(`dpkg-deb failed on ${one.path}: ${error?.message ?? stderr}`);
  }
}
