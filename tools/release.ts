import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { chart } from './release/chart/chart.ts';
import { sha256Of } from './release/downloads.ts';
import { executables } from './release/executables.ts';
import { image } from './release/image/image.ts';
import { krewManifest } from './release/krew.ts';
import { packLibraries } from './release/libraries.ts';
import { type NodeOrigin, nodeOrigins } from './release/node-origin.ts';
import { npmPackage } from './release/npm-package.ts';
import { olm } from './release/olm/bundle.ts';
import { dist } from './release/paths.ts';
import { provenance } from './release/provenance.ts';

/**
 * `npm run release [-- --only npm,executables] [--registry REGISTRY]`: makes everything that is
 * released into dist/release, with checksums and a statement of where it comes from. The same
 * sources give the same bytes. Nothing is published.
 */

function sha256(name: string): string {
  return sha256Of(readFileSync(`${dist}${name}`));
}

function flag(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

const makers = {
  chart: async (): Promise<readonly string[]> => [chart()],
  image: (origins: readonly NodeOrigin[]): Promise<readonly string[]> => image(origins),
  olm: async (): Promise<readonly string[]> => olm(flag('--registry')),
  libraries: async (): Promise<readonly string[]> => packLibraries(),
  npm: async (): Promise<readonly string[]> => [await npmPackage()],
  executables: async (): Promise<readonly string[]> => {
    const archives = await executables();
    return [...archives.map(({ file }) => file), krewManifest(archives, sha256)];
  },
} as const;

type Part = keyof typeof makers;

function isPart(name: string): name is Part {
  return Object.hasOwn(makers, name);
}

/** Those that Node is in. */
const withNode: ReadonlySet<Part> = new Set(['image', 'executables']);

async function make(parts: readonly Part[]): Promise<void> {
  const origins = parts.some(part => withNode.has(part)) ? await nodeOrigins() : [];
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  const made: string[] = [];
  for (const name of parts) made.push(...(await makers[name](origins)));
  made.push(provenance(made, origins));
  writeFileSync(`${dist}SHA256SUMS`, made.map(name => `${sha256(name)}  ${name}\n`).join(''));
  for (const name of [...made, 'SHA256SUMS'])
    console.log(`${(statSync(`${dist}${name}`).size / 1e6).toFixed(1).padStart(7)} MB  ${name}`);
}

const wanted = (flag('--only') ?? Object.keys(makers).join()).split(',');
const unknown = wanted.find(name => !isPart(name));
if (unknown === undefined) {
  try {
    await make(wanted.filter(isPart));
  } catch (error) {
    console.error(`release: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
} else {
  console.error(`release: unknown part "${unknown}"; known: ${Object.keys(makers).join(', ')}`);
  process.exitCode = 2;
}
