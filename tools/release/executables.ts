import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { pack } from './archive.ts';
import { bundle } from './bundle.ts';
import { licencesOf } from './licences.ts';
import { nodePackage, type Platform, platforms } from './node-binaries.ts';
import { build, dist, manifest, root } from './paths.ts';
import { licencesFile } from './program.ts';
import { shippedFiles } from './shipped-files.ts';

/** An archive with an executable, for one platform. */
export type Archive = { readonly file: string; readonly platform: Platform };

const folder = `${build}executables/`;

/**
 * macOS on arm64 starts nothing that is not signed, and what is put into Node breaks its signature:
 * it is signed again, ad hoc, by a library in Go.
 */
function signed(file: string): void {
  const { status, stderr, error } = spawnSync('go', ['run', '.', file, file], {
    cwd: `${root}tools/release/mach-o`,
    encoding: 'utf8',
  });
  if (status !== 0)
    throw new Error(
      `the executable for macOS cannot be signed, for which Go has to be on PATH: ${error?.message ?? stderr}`,
    );
}

/** Node's single executable application: the program and what it reads, in a copy of Node. */
function executable(platform: Platform): void {
  const target = `${folder}${platform.name}/`;
  mkdirSync(target, { recursive: true });
  const config = {
    // Its path is in the executable: relative, so that it says nothing of this machine.
    main: 'main.mjs',
    mainFormat: 'module',
    executable: `${nodePackage(platform)}/bin/node`,
    output: `${target}drydock`,
    disableExperimentalSEAWarning: true,
    assets: Object.fromEntries(shippedFiles().map(path => [path, `${root}${path}`])),
  };
  writeFileSync(`${target}sea.json`, JSON.stringify(config));
  const { status, stderr } = spawnSync(process.execPath, ['--build-sea', `${target}sea.json`], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`node --build-sea failed for ${platform.name}: ${stderr}`);
  if (platform.name === 'darwin-arm64') signed(`${target}drydock`);
}

function archive(platform: Platform): Archive {
  const target = `${folder}${platform.name}/`;
  executable(platform);
  for (const file of ['LICENSE', licencesFile])
    cpSync(`${file === 'LICENSE' ? root : folder}${file}`, `${target}${file}`);
  const file = `${manifest.name}-${manifest.version}-${platform.name}.tar.gz`;
  pack(`${dist}${file}`, target, ['drydock', 'LICENSE', licencesFile]);
  return { file, platform };
}

/** Makes an archive for each platform. */
export async function executables(): Promise<readonly Archive[]> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { packages } = await bundle(folder, { chunks: false });
  writeFileSync(`${folder}${licencesFile}`, licencesOf(packages));
  return platforms.map(archive);
}
