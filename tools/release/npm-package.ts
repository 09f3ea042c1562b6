import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { bundle } from './bundle.ts';
import { licencesOf } from './licences.ts';
import { build, dist, manifest, root } from './paths.ts';
import { shippedFiles } from './shipped-files.ts';

/** The programs that find Node 26, or bring it, and hand over to src/main.mjs: the same files as in a clone, at the same paths. */
const programs = ['bootstrap', 'drainer', 'drydock', 'hand-over', 'kubectl-complete'].map(name => `scripts/${name}.mjs`);

const documents = ['README.md', 'CHANGELOG.md', 'SECURITY.md'];

/** package.json of what is installed: the packages are in the bundle, but for those that bring Node. */
const installed = (): object => {
  const { name, version, description, license, bin, engines, optionalDependencies } = manifest;
  return { name, version, description, license, type: 'module', bin, engines, optionalDependencies };
};

/** Makes `drydock-VERSION.tgz` and answers its name. */
export const npmPackage = async (): Promise<string> => {
  const folder = `${build}npm/`;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of [...shippedFiles(), ...programs, ...documents]) {
    mkdirSync(dirname(`${folder}${file}`), { recursive: true });
    cpSync(`${root}${file}`, `${folder}${file}`);
  }
  const { packages } = await bundle(`${folder}src`, { chunks: true });
  writeFileSync(`${folder}LICENSES-OF-PACKAGES.txt`, licencesOf(packages));
  writeFileSync(`${folder}package.json`, `${JSON.stringify(installed(), undefined, 2)}\n`);
  const { status, stderr } = spawnSync('npm', ['pack', '--pack-destination', dist, '--loglevel=error'], { cwd: folder, encoding: 'utf8' });
  if (status !== 0) throw new Error(`npm pack failed: ${stderr}`);
  return `${manifest.name}-${manifest.version}.tgz`;
};
