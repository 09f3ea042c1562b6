import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build, dist, root } from './paths.ts';

/**
 * The packages that are of use without Drydock, as npm installs them: Node strips no types below
 * node_modules, so they are compiled, with declarations.
 */

/** Packages that are released by themselves, each after those that it depends on. */
export const libraries = ['apimachinery', 'utils', 'cel', 'kube-client', 'kube-sim'] as const;

type Manifest = {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
};

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed: ${stdout}${stderr}`);
}

/** Compiles the sources of a package, without its tests, into `folder`. */
function compile(name: string, folder: string): void {
  const source = join(root, 'packages', name, 'src');
  const config = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      resolveJsonModule: true,
      rootDir: source,
      outDir: folder,
    },
    include: [source],
    exclude: [join(source, '**', '*.test.ts'), join(source, 'testing')],
  };
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(config));
  run(join(root, 'node_modules', '.bin', 'tsc'), ['-p', file], root);
  rmSync(file);
  // The compiler leaves the endings of imports in declarations as they are in the sources.
  for (const path of globSync('**/*.d.ts', { cwd: folder }).map(path => join(folder, path))) {
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, text.replace(/(from |import\()(['"]\.[^'"]+)\.ts(['"])/g, '$1$2.js$3'));
  }
}

/** Returns package.json as it is installed: the doors lead to what was compiled. */
function installedManifest(name: string): Manifest & Readonly<Record<string, unknown>> {
  const {
    private: _private,
    devDependencies: _devDependencies,
    exports: doors,
    ...rest
  } = JSON.parse(readFileSync(join(root, 'packages', name, 'package.json'), 'utf8')) as Manifest &
    Readonly<Record<string, unknown>>;
  const compiled = Object.entries(doors)
    .filter(([door]) => door !== './testing')
    .map(([door, file]) => {
      const base = file.replace(/^\.\/src\//, './dist/').replace(/\.ts$/, '');
      return [door, { types: `${base}.d.ts`, default: `${base}.js` }] as const;
    });
  return {
    ...rest,
    engines: { node: '>=26' },
    files: ['dist'],
    exports: Object.fromEntries(compiled),
  } as unknown as Manifest & Readonly<Record<string, unknown>>;
}

/**
 * Makes a tarball of each library in `target`. Returns their names, in the order of `libraries`.
 */
export function packLibraries(target = dist): readonly string[] {
  return libraries.map(name => {
    const folder = join(build, 'libraries', name);
    rmSync(folder, { recursive: true, force: true });
    compile(name, join(folder, 'dist'));
    const manifest = installedManifest(name);
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
    for (const file of ['LICENSE', join('packages', name, 'README.md')])
      cpSync(join(root, file), join(folder, file.endsWith('README.md') ? 'README.md' : file));
    run('npm', ['pack', '--pack-destination', target, '--loglevel=error'], folder);
    return `drydock-${name}-${manifest.version}.tgz`;
  });
}
