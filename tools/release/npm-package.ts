import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { build, dist, manifest } from './paths.ts';
import { putProgram } from './program.ts';

/**
 * The programs that find Node 26, or bring it, and hand over to packages/cli/src/main.mjs: the same
 * files as in a clone, at the same paths.
 */
const programs = ['bootstrap', 'drainer', 'drydock', 'hand-over', 'kubectl-complete'].map(
  name => `scripts/${name}.mjs`,
);

const documents = ['README.md', 'CHANGELOG.md', 'SECURITY.md'];

/**
 * package.json of what is installed: the packages are in the bundle, but for those that bring Node.
 */
function installed(): object {
  const { name, version, description, license, bin, engines, optionalDependencies } = manifest;
  return {
    name,
    version,
    description,
    license,
    type: 'module',
    bin,
    engines,
    optionalDependencies,
  };
}

/** Makes `drydock-VERSION.tgz` and answers its name. */
export async function npmPackage(): Promise<string> {
  const folder = `${build}npm/`;
  rmSync(folder, { recursive: true, force: true });
  await putProgram(folder, [...programs, ...documents]);
  writeFileSync(`${folder}package.json`, `${JSON.stringify(installed(), undefined, 2)}\n`);
  const { status, stderr } = spawnSync(
    'npm',
    ['pack', '--pack-destination', dist, '--loglevel=error'],
    { cwd: folder, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`npm pack failed: ${stderr}`);
  return `${manifest.name}-${manifest.version}.tgz`;
}
