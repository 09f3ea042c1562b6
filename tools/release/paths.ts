import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Of the clone, with a slash at the end. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Everything that is released ends here; what it is made of on the way, below `build`. */
export const dist = `${root}dist/release/`;
export const build = `${root}dist/build/`;

/** Of the user: what is fetched once is kept there. */
export const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'drydock');

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  readonly bin: Readonly<Record<string, string>>;
  readonly engines: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
};

/** The one place of the version. */
export const manifest = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as Manifest;

/** Where releases are to be found. */
export const releases = 'https://drydock.dev/releases';
