import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { unpackPackages } from '../../tools/release/image/debian-archive.ts';
import { cached, makeCached } from '../control-plane/build/cache.ts';
import packages from './debian-packages.json' with { type: 'json' };

/**
 * runc and nft with the libraries that they need: packages of Debian 12, each by its hash, unpacked
 * and not installed.
 */

const name = 'node-packages';
const key = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 16);

async function unpack(folder: string): Promise<void> {
  await unpackPackages(packages, folder, 'test/nodes/debian-packages.json');
  // Of the documents and settings of the packages nobody here reads anything.
  for (const unneeded of ['etc', 'lib', join('usr', 'share')])
    rmSync(join(folder, unneeded), { recursive: true, force: true });
}

/** The folder in which they are unpacked. */
export async function ensureDebian(): Promise<string> {
  return (
    cached({ name, key }) ??
    makeCached({ name, key, announcement: 'fetching runc and nft for the tests', make: unpack })
  );
}
