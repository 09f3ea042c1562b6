import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import * as tar from 'tar';
import { libraries, packLibraries } from '../../tools/release/libraries.ts';
import { exampleIn } from './example.ts';

/**
 * What is released as libraries, used by a project outside of this one: their tarballs are
 * unpacked as npm does it, and the packages of others are those of this clone, for there may be no
 * network.
 */

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'drydock-outside-'));
after(() => rmSync(folder, { recursive: true }));

type Manifest = {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>;
};

const modules = join(folder, 'node_modules');
const packed = packLibraries(folder);

async function install(): Promise<void> {
  for (const [at, name] of libraries.entries()) {
    const into = join(modules, '@drydock', name);
    mkdirSync(into, { recursive: true });
    await tar.extract({ file: join(folder, packed[at] ?? ''), cwd: into, strip: 1 });
  }
  // What these depend on themselves is found where the link leads to.
  for (const name of [...libraries.flatMap(dependenciesOf), '@types/node']) {
    if (name.startsWith('@drydock/')) continue;
    const link = join(modules, name);
    mkdirSync(join(link, '..'), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(join(root, 'node_modules', name), link);
  }
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', private: true }));
}

function manifestOf(name: string): Manifest {
  return JSON.parse(
    readFileSync(join(modules, '@drydock', name, 'package.json'), 'utf8'),
  ) as Manifest;
}

function dependenciesOf(name: string): readonly string[] {
  return Object.keys(manifestOf(name).dependencies ?? {});
}

await install();

test('they depend on one another and on packages of others only, and have no sources of tests', () => {
  const known = new Set<string>(libraries.map(name => `@drydock/${name}`));
  for (const name of libraries) {
    const own = dependenciesOf(name).filter(one => one.startsWith('@drydock/'));
    assert.deepEqual(
      own.filter(one => !known.has(one)),
      [],
    );
    const files = readdirSync(join(modules, '@drydock', name), {
      recursive: true,
      encoding: 'utf8',
    });
    assert.deepEqual(
      files.filter(file => /\.test\.|testing|(?<!\.d)\.ts$/.test(file)),
      [],
    );
  }
});

for (const name of libraries.filter(one => one !== 'kube-client'))
  test(`the example of ${name} runs on what is installed`, () => {
    const { code, output } = exampleIn(join(modules, '@drydock', name));
    writeFileSync(join(folder, `${name}.ts`), code);
    assert.equal(
      execFileSync(process.execPath, [`${name}.ts`], { cwd: folder, encoding: 'utf8' }),
      output,
    );
  });

test('every door opens, and the compiler of the other project knows its types', () => {
  const doors = libraries.flatMap(name =>
    Object.keys(manifestOf(name).exports).map(door => `@drydock/${name}${door.slice(1)}`),
  );
  const text = doors
    .map((door, at) => `import * as door${at} from '${door}';\nvoid door${at};\n`)
    .join('');
  writeFileSync(join(folder, 'doors.ts'), text);
  execFileSync(process.execPath, ['doors.ts'], { cwd: folder });
  const config = {
    compilerOptions: {
      module: 'nodenext',
      target: 'es2025',
      lib: ['esnext'],
      strict: true,
      noEmit: true,
      types: ['node'],
    },
    files: ['doors.ts', ...libraries.map(name => `${name}.ts`)],
  };
  writeFileSync(
    join(folder, 'kube-client.ts'),
    exampleIn(join(modules, '@drydock', 'kube-client')).code,
  );
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', folder], {
    encoding: 'utf8',
    stdio: 'pipe',
  });
});
