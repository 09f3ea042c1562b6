import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type DebianFile, unpackPackages } from './debian-archive.ts';
import packages from './debian-packages.json' with { type: 'json' };

/** The libraries of the image: packages of Debian 12, each by its hash. */

export type Architecture = 'amd64' | 'arm64';

export const debianPackages = packages as readonly {
  readonly name: string;
  readonly version: string;
  readonly files: Readonly<Record<Architecture, DebianFile>>;
}[];

/** Unpacks all of them into a folder. */
export function unpackDebian(folder: string, architecture: Architecture): Promise<void> {
  const files = debianPackages.map(one => one.files[architecture]);
  return unpackPackages(files, folder, 'tools/release/image/debian-packages.json');
}

/** Read to make the one file that programs look for: what update-ca-certificates writes. */
export function certificatesIn(folder: string, names: readonly string[]): string {
  return names.map(name => readFileSync(join(folder, name), 'utf8').trimEnd()).join('\n');
}
