import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { type Manifest, manifests, neighboursOf } from '../../tools/packages.ts';
import { LintedFolder } from './linted.ts';

/**
 * The packages: what each may import stands in its package.json, its doors in `exports`, and
 * neither the dependencies nor those of the tests run in a circle.
 */

const root = join(import.meta.dirname, '..', '..');

const all = manifests();
const folders = [...all.keys()];

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function isOfTests(file: string): boolean {
  return /\.test\.tsx?$/.test(file) || file.includes('/testing/');
}

/** Files of a package, each with the packages that it imports. */
function importsIn(
  name: string,
): readonly { readonly file: string; readonly imported: readonly string[] }[] {
  return globSync(`packages/${name}/{src,ui}/**/*.{ts,tsx,mjs}`, { cwd: root }).map(file => {
    const text = readFileSync(join(root, file), 'utf8');
    const found = [
      ...text.matchAll(
        /^(?:(?:import|export|\})[^'\n]* from |import )'([^.'][^']*)'|\bimport\('([^.'$][^']*)'\)/gm,
      ),
    ];
    return {
      file,
      imported: found
        .map(([, one, other]) => one ?? other ?? '')
        .filter(specifier => !specifier.startsWith('node:')),
    };
  });
}

for (const [name, manifest] of all) {
  test(`${name} imports what its package.json declares, by doors that are there`, () => {
    const own = new Set(Object.keys(manifest.dependencies ?? {}));
    const withTests = new Set([...own, ...Object.keys(manifest.devDependencies ?? {})]);
    const files = importsIn(name);
    assert.ok(
      files.some(({ imported }) => imported.length > 0) || name === 'apimachinery',
      'nothing is imported',
    );
    // The page is bundled when it is generated: what is in it is a dependency of nobody who runs
    // it.
    const allowedIn = (file: string): ReadonlySet<string> =>
      isOfTests(file) || file.includes('/ui/') ? withTests : own;
    assert.deepEqual(
      files.flatMap(({ file, imported }) =>
        imported
          .filter(specifier => !allowedIn(file).has(packageOf(specifier)))
          .map(specifier => `${file}: ${specifier}`),
      ),
      [],
    );
  });

  test(`${name} exports files, and has a README`, () => {
    for (const [door, file] of Object.entries(manifest.exports))
      assert.ok(
        existsSync(join(root, 'packages', name, file)),
        `${door} of ${name} leads to ${file}, which is not there`,
      );
    assert.ok(
      existsSync(join(root, 'packages', name, 'README.md')),
      `packages/${name} has no README.md`,
    );
  });
}

/** Neighbours of a package, with those that only its tests need. */
function testedWith({ dependencies, devDependencies }: Manifest): readonly string[] {
  return neighboursOf({ dependencies: { ...dependencies, ...devDependencies } });
}

test('no package depends on itself, by whatever way, tests included', () => {
  const placed: string[] = [];
  while (placed.length < folders.length) {
    const next = folders.filter(name => {
      const manifest = all.get(name);
      return (
        !placed.includes(name) &&
        manifest !== undefined &&
        testedWith(manifest).every(other => placed.includes(other))
      );
    });
    assert.notEqual(
      next.length,
      0,
      `in a circle: ${folders
        .filter(name => !placed.includes(name))
        .sort()
        .join(', ')}`,
    );
    placed.push(...next);
  }
});

const folder = new LintedFolder();
after(() => folder[Symbol.dispose]());

function refused(path: string, imported: string): boolean {
  return folder
    .refusedLines(path, `export { a } from '${imported}';\n`, 'no-restricted-imports')
    .has(1);
}

test('a package is entered by its doors only, and a pure one asks nothing of the machine', () => {
  const rows = [
    ['packages/core/src/plan/planted.ts', '../drain/plan.ts', false],
    ['packages/core/src/plan/planted.ts', '@drydock/apimachinery', false],
    ['packages/core/src/plan/planted.ts', '../../../apimachinery/src/json.ts', true],
    ['packages/core/src/plan/planted.ts', 'node:fs', true],
    ['packages/cel/src/planted.ts', 'node:crypto', true],
    ['packages/apimachinery/src/planted.ts', 'node:os', true],
    ['packages/cli/src/planted.ts', 'node:fs', false],
    ['packages/cli/src/planted.ts', '../../operator/src/ports.ts', true],
    ['test/kill/planted.ts', '../../packages/operator/src/ports.ts', true],
    ['packages/operator/src/node/planted.ts', 'node:fs', true],
    ['packages/operator/src/plans/planted.ts', '@drydock/clouds', true],
    ['packages/operator/src/scanner-planted.ts', '@drydock/clouds', false],
    ['packages/clouds/src/aws/planted.ts', '@aws-sdk/client-ec2', true],
    ['packages/clouds/src/aws/sdk.ts', '@aws-sdk/client-ec2', false],
    ['packages/dashboard/ui/parts/planted.ts', '../../src/scene.ts', false],
    ['packages/dashboard/ui/parts/planted.ts', '../../src/http/routes.ts', true],
    ['packages/dashboard/ui/parts/planted.ts', '@drydock/core', false],
    ['packages/dashboard/ui/parts/planted.ts', '@drydock/kube-client', true],
  ] as const;
  assert.deepEqual(
    rows.filter(([path, imported, isRefused]) => refused(path, imported) !== isRefused),
    [],
  );
});
