import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundle } from './bundle.ts';
import { licencesOf } from './licences.ts';
import { root } from './paths.ts';
import { shippedFiles } from './shipped-files.ts';

/** Where the licences of the packages in the bundle are. */
export const licencesFile = 'LICENSES-OF-PACKAGES.txt';

/**
 * Puts the program into a folder, laid out as the clone is: the bundle at
 * packages/cli/src/main.mjs, what it reads beside its code, further files of the clone, and the
 * licences. Returns the folders of the packages in the bundle.
 */
export async function putProgram(
  folder: string,
  more: readonly string[] = [],
): Promise<readonly string[]> {
  for (const file of [...shippedFiles(), ...more]) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(`${root}${file}`, join(folder, file));
  }
  const { packages } = await bundle(join(folder, 'packages', 'cli', 'src'), { chunks: true });
  writeFileSync(join(folder, licencesFile), licencesOf(packages));
  return packages;
}
