import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { extract } from 'tar';
import { kept, sha256Of } from './downloads.ts';
import { nodePackage, type Platform, platforms } from './node-binaries.ts';
import { cache, manifest, root } from './paths.ts';

/**
 * The Node that is shipped comes from packages of npm that others make. Here it is compared with
 * the archives that Node itself publishes.
 */

/** SHASUMS256.txt of the pinned version, as Node has signed it. */
const sumsFile = 'tools/release/SHASUMS256.txt.asc';

/** What is known of the Node for one platform. */
export type NodeOrigin = {
  readonly platform: Platform;
  readonly version: string;
  /** Of bin/node as it is shipped. */
  readonly sha256: string;
  /** What Node publishes for the platform. */
  readonly archive: { readonly url: string; readonly sha256: string };
  readonly check:
    | { readonly kind: 'same' }
    | { readonly kind: 'unchecked'; readonly cause: string };
};

type Wanted = {
  readonly platform: Platform;
  readonly version: string;
  /** Path of the binary that is shipped. */
  readonly binary: string;
  /** Text of SHASUMS256.txt. */
  readonly sums: string;
  /** Address of a copy of https://nodejs.org/dist. */
  readonly mirror: string;
  /** Where archives are kept. */
  readonly folder: string;
};

function publishedHash(sums: string, version: string, name: string): string {
  const hashes = sums.split('\n').flatMap(line => {
    const [, hash, file] = /^([0-9a-f]{64}) {2}(\S+)$/.exec(line) ?? [];
    return hash !== undefined && file === name ? [hash] : [];
  });
  const [hash] = hashes;
  if (hash === undefined || hashes.length > 1)
    throw new Error(
      `${sumsFile} has ${hashes.length === 0 ? 'no checksum' : 'several checksums'} of ${name}: put https://nodejs.org/dist/v${version}/SHASUMS256.txt.asc in its place, once gpg --verify finds it signed by a key of https://github.com/nodejs/release-keys`,
    );
  return hash;
}

/** Reads bin/node of an archive of Node. */
function binaryIn(archive: string, folder: string): Buffer {
  const place = mkdtempSync(join(tmpdir(), 'drydock-node-'));
  try {
    extract({ sync: true, file: archive, cwd: place, strip: 1 }, [`${folder}/bin/node`]);
    return readFileSync(join(place, 'bin', 'node'));
  } catch (error) {
    throw new Error(`bin/node cannot be read from ${archive}`, { cause: error });
  } finally {
    rmSync(place, { recursive: true });
  }
}

/**
 * Compares a binary with the one in the archive that Node publishes. Throws where they differ, or
 * the archive is not the published one; an archive that cannot be had leaves it unchecked.
 */
export async function originOf(wanted: Wanted): Promise<NodeOrigin> {
  const { platform, version, binary, sums, mirror, folder } = wanted;
  const name = `node-v${version}-${platform.name}`;
  const path = `v${version}/${name}.tar.gz`;
  const sha256 = publishedHash(sums, version, `${name}.tar.gz`);
  const archive = { url: `https://nodejs.org/dist/${path}`, sha256 };
  const shipped = readFileSync(binary);
  const known = { platform, version, sha256: sha256Of(shipped), archive };
  const fetched = await kept({ path, sha256, places: () => [mirror], list: sumsFile, folder });
  if (fetched.kind === 'unreachable')
    return { ...known, check: { kind: 'unchecked', cause: fetched.why } };
  const published = binaryIn(fetched.file, name);
  if (!published.equals(shipped))
    throw new Error(
      `${binary} is not the Node that Node has published: its hash is ${known.sha256}, that of bin/node in ${archive.url} is ${sha256Of(published)}. Do not release it; tell the maintainers of the package ${platform.brings}`,
    );
  return { ...known, check: { kind: 'same' } };
}

/** Describes the comparison in words that are the same wherever it is made. */
export function verdictOn({ archive, check }: NodeOrigin): string {
  return check.kind === 'same'
    ? `the same as in ${archive.url}`
    : `not checked: ${archive.url} could not be fetched`;
}

/**
 * Compares every Node that is shipped, and prints what has come of it. Archives are fetched once;
 * DRYDOCK_NODE_MIRROR names another place of them than nodejs.org.
 */
export async function nodeOrigins(): Promise<readonly NodeOrigin[]> {
  const sums = readFileSync(`${root}${sumsFile}`, 'utf8');
  const mirror = process.env['DRYDOCK_NODE_MIRROR'] ?? 'https://nodejs.org/dist';
  const origins: NodeOrigin[] = [];
  for (const platform of platforms) {
    const version = manifest.optionalDependencies[platform.brings] ?? '';
    const binary = `${nodePackage(platform)}/bin/node`;
    const folder = join(cache, 'node');
    const origin = await originOf({ platform, version, binary, sums, mirror, folder });
    const cause = origin.check.kind === 'same' ? '' : ` (${origin.check.cause})`;
    console.log(`Node for ${platform.name}: ${verdictOn(origin)}${cause}`);
    origins.push(origin);
  }
  return origins;
}
