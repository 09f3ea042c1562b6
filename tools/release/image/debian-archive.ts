import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { kept } from '../downloads.ts';
import { cache } from '../paths.ts';

/**
 * Packages of Debian, each by its hash: fetched once, kept, and unpacked without being installed.
 * For the image, and for the nodes of the tests.
 */

export type DebianFile = { readonly path: string; readonly sha256: string };

/**
 * The archives of Debian that this machine installs from, whether it has fetched their lists or
 * not; DRYDOCK_DEBIAN_MIRROR names another one.
 */
function mirrors(): readonly string[] {
  const named = process.env['DRYDOCK_DEBIAN_MIRROR'];
  if (named !== undefined) return [named];
  const { status, stdout, stderr, error } = spawnSync(
    'apt-get',
    ['indextargets', '--no-release-info', '--format', '$(REPO_URI)'],
    { encoding: 'utf8' },
  );
  if (status !== 0 || stdout.trim() === '') {
    const why = error?.message ?? stderr.trim();
    throw new Error(
      `apt-get names no archive of Debian${why && ` (${why})`}: run this on Debian, or name an archive of Debian in DRYDOCK_DEBIAN_MIRROR`,
    );
  }
  return [...new Set(stdout.trim().split('\n'))].sort();
}

async function keptPackage(file: DebianFile, list: string): Promise<string> {
  const fetched = await kept({ ...file, places: mirrors, list, folder: join(cache, 'debian') });
  if (fetched.kind === 'kept') return fetched.file;
  throw new Error(
    `${file.path} cannot be fetched (${fetched.why}): name another version in ${list}`,
  );
}

function dpkgDeb(...args: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync('dpkg-deb', args, { encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`dpkg-deb ${args.join(' ')} failed: ${error?.message ?? stderr}`);
  return stdout;
}

/** Where scanners look for the packages of an image that has no package manager. */
const records = join('var', 'lib', 'dpkg', 'status.d');

/**
 * Unpacks all of them into a folder, with a record of each. `list` is the file that names them, for
 * messages.
 */
export async function unpackPackages(
  files: readonly DebianFile[],
  folder: string,
  list: string,
): Promise<void> {
  mkdirSync(join(folder, records), { recursive: true });
  for (const one of files) {
    const file = await keptPackage(one, list);
    dpkgDeb('--extract', file, folder);
    const [name = ''] = basename(one.path).split('_');
    writeFileSync(join(folder, records, name), dpkgDeb('--field', file));
  }
}
