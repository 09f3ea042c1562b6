import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Manifest } from '@drydock/cli/install';
import { parse } from 'yaml';
import { run } from '../control-plane/processes/command.ts';

/** What a release has for OLM. */

const root = join(import.meta.dirname, '..', '..');
const released = join(root, 'dist', 'release');
/** Of the release. */
export const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};

/** The namespace that the bundles suggest. */
export const home = 'drydock-system';

/** Name of the CSV, and of the bundle in a catalog. */
export const csvName = `drydock.v${version}`;

/** Path of a file of the release, of its name without `drydock-` and the version. */
export function fileOf(name: string): string {
  const [stem = '', ...endings] = name.split('.');
  return join(released, [`drydock-${stem}-${version}`, ...endings].join('.'));
}

/** Makes it. */
export async function makeRelease(...args: readonly string[]): Promise<void> {
  const { code, stderr } = await run(
    process.execPath,
    ['tools/release.ts', '--only', 'olm', ...args],
    { cwd: root },
  );
  if (code !== 0 || stderr !== '')
    throw new Error(`tools/release.ts ended with ${code}: ${stderr}`);
}

/** The checksums of all that was made last. */
export function checksums(): string {
  return readFileSync(join(released, 'SHA256SUMS'), 'utf8');
}

/**
 * Unpacks an archive of the release (`olm-bundle`) into a folder of its name in `into`; resolves
 * with its path.
 */
export async function unpacked(name: string, into: string): Promise<string> {
  const folder = join(into, name);
  mkdirSync(folder);
  const { code, stderr } = await run('tar', ['-xzf', fileOf(`${name}.tar.gz`), '-C', folder]);
  if (code !== 0) throw new Error(`tar ended with ${code}: ${stderr}`);
  return folder;
}

/** The examples in the CSV of a bundle. */
export function examplesIn(bundle: string): readonly Manifest[] {
  const { metadata } = parse(
    readFileSync(join(bundle, 'manifests', 'drydock.clusterserviceversion.yaml'), 'utf8'),
  ) as {
    readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  };
  return JSON.parse(metadata.annotations['alm-examples'] ?? '') as readonly Manifest[];
}
