import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { cache } from '../paths.ts';
import packages from './debian-packages.json' with { type: 'json' };

/** The libraries of the image: packages of Debian 12, each by its hash. */

export type Architecture = 'amd64' | 'arm64';

export const debianPackages = packages as readonly {
  readonly name: string;
  readonly version: string;
  readonly files: Readonly<Record<Architecture, { readonly path: string; readonly sha256: string }>>;
}[];

const downloads = join(cache, 'debian');

/** The archives of Debian that this machine installs from; DRYDOCK_DEBIAN_MIRROR names another one. */
const mirrors = (): readonly string[] => {
  const named = process.env['DRYDOCK_DEBIAN_MIRROR'];
  if (named !== undefined) return [named];
  const { status, stdout } = spawnSync('apt-get', ['indextargets', '--format', '$(REPO_URI)'], { encoding: 'utf8' });
  if (status !== 0)
    throw new Error('the image is made of packages of Debian: make it on Debian 12, or name an archive in DRYDOCK_DEBIAN_MIRROR');
  return [...new Set(stdout.trim().split('\n'))].sort();
};

const fetched = async (path: string): Promise<Buffer> => {
  const failures: string[] = [];
  for (const mirror of mirrors()) {
    try {
      const response = await fetch(new URL(path, mirror.endsWith('/') ? mirror : `${mirror}/`));
      if (response.ok) return Buffer.from(await response.arrayBuffer());
      failures.push(`${mirror}: ${response.status}`);
    } catch (error) {
      failures.push(`${mirror}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`${path} cannot be fetched (${failures.join(', ')}): name another version in debian-packages.json`);
};

const kept = async ({ path, sha256 }: { readonly path: string; readonly sha256: string }): Promise<string> => {
  const file = join(downloads, `${sha256}-${basename(path)}`);
  if (existsSync(file)) return file;
  const bytes = await fetched(path);
  const hash = createHash('sha256').update(bytes).digest('hex');
  if (hash !== sha256) throw new Error(`${path} is not what debian-packages.json names: its hash is ${hash}`);
  mkdirSync(downloads, { recursive: true });
  writeFileSync(`${file}.${process.pid}`, bytes);
  renameSync(`${file}.${process.pid}`, file);
  return file;
};

/** Unpacks all of them into a folder. */
export const unpackDebian = async (folder: string, architecture: Architecture): Promise<void> => {
  for (const { files } of debianPackages) {
    const { status, stderr } = spawnSync('dpkg-deb', ['--extract', await kept(files[architecture]), folder], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`dpkg-deb failed: ${stderr}`);
  }
};

/** Read to make the one file that programs look for: what update-ca-certificates writes. */
export const certificatesIn = (folder: string, names: readonly string[]): string =>
  names.map(name => readFileSync(join(folder, name), 'utf8').trimEnd()).join('\n');
