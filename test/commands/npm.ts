import { join } from 'node:path';
import { cached, makeCached } from '../control-plane/build/cache.ts';
import { run } from '../control-plane/processes/command.ts';

/**
 * The npm that comes with Node 20, and the one that came out last: they tell of scripts in
 * different places.
 */

export type Npm = {
  readonly version: string;
  /** Has `npm` and `npx`. */
  readonly folder: string;
};

/** Why there is none, for the tests to say loudly. */
export type NoNpm = { readonly kind: 'left-out'; readonly why: string };

/** `10`, `latest`: the newest version that this stands for. */
async function versionOf(wanted: string): Promise<string | undefined> {
  const { code, stdout } = await run('npm', [
    'view',
    `npm@${wanted}`,
    'version',
    '--json',
    '--loglevel=silent',
    '--fetch-retries=0',
  ]);
  if (code !== 0 || stdout.trim() === '') return undefined;
  const found = JSON.parse(stdout) as string | readonly string[];
  return typeof found === 'string' ? found : found.at(-1);
}

/** Installs it once into the user's cache folder. */
export async function npmOf(wanted: string): Promise<Npm | NoNpm> {
  const version = await versionOf(wanted);
  if (version === undefined)
    return { kind: 'left-out', why: `no registry tells which npm@${wanted} is` };
  const place = { name: 'npm', key: version };
  const make = async (folder: string): Promise<void> => {
    const { code, stderr } = await run('npm', [
      'install',
      `npm@${version}`,
      '--prefix',
      folder,
      '--ignore-scripts',
      '--loglevel=error',
    ]);
    if (code !== 0) throw new Error(`npm ${version} could not be installed:\n${stderr}`);
  };
  const folder =
    cached(place) ??
    (await makeCached({ ...place, announcement: `installing npm ${version} for the tests`, make }));
  return { version, folder: join(folder, 'node_modules', '.bin') };
}
