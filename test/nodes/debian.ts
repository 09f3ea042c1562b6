import { createHash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cached, makeCached } from '../control-plane/cache.ts';
import { run } from '../control-plane/command.ts';
import packages from './debian-packages.json' with { type: 'json' };

/** runc and nft with the libraries that they need: packages of Debian 12, each by its hash, unpacked and not installed. */

const name = 'node-packages';
const key = createHash('sha256').update(JSON.stringify(packages)).digest('hex').slice(0, 16);

/** The archives of Debian that this machine installs from; DRYDOCK_DEBIAN_MIRROR names another one. */
const mirrors = async (): Promise<readonly string[]> => {
  const named = process.env['DRYDOCK_DEBIAN_MIRROR'];
  if (named !== undefined) return [named];
  const { code, stdout, stderr } = await run('apt-get', ['indextargets', '--format', '$(REPO_URI)']);
  if (code !== 0) throw new Error(`apt-get does not say where Debian's packages are: ${stderr}`);
  return [...new Set(stdout.trim().split('\n'))].sort();
};

const fetched = async (path: string): Promise<Buffer> => {
  const failures: string[] = [];
  for (const mirror of await mirrors()) {
    try {
      const response = await fetch(new URL(path, mirror.endsWith('/') ? mirror : `${mirror}/`), { signal: AbortSignal.timeout(60_000) });
      if (response.ok) return Buffer.from(await response.arrayBuffer());
      failures.push(`${mirror}: ${response.status}`);
    } catch (error) {
      failures.push(`${mirror}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  throw new Error(`${path} cannot be fetched (${failures.join(', ')}): name another version in test/nodes/debian-packages.json`);
};

const unpack = async (folder: string): Promise<void> => {
  for (const { path, sha256 } of packages) {
    const bytes = await fetched(path);
    const hash = createHash('sha256').update(bytes).digest('hex');
    if (hash !== sha256) throw new Error(`${path} is not what test/nodes/debian-packages.json names: its hash is ${hash}`);
    const file = join(folder, 'package.deb');
    writeFileSync(file, bytes);
    const { code, stderr } = await run('dpkg-deb', ['--extract', file, folder]);
    if (code !== 0) throw new Error(`dpkg-deb failed: ${stderr}`);
    rmSync(file);
  }
  // Of the documents and settings of the packages nobody here reads anything.
  for (const unneeded of ['etc', 'lib', join('usr', 'share')]) rmSync(join(folder, unneeded), { recursive: true, force: true });
};

/** The folder in which they are unpacked. */
export const ensureDebian = async (): Promise<string> =>
  cached({ name, key }) ?? makeCached({ name, key, announcement: 'fetching runc and nft for the tests', make: unpack });
