import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { consentPolicies } from '../../src/apis/admission-rules/consent.ts';
import { type Manifest, manifestsOf } from '../../src/cli/install/install-files.ts';
import { manifests } from '../../src/cli/install/install-manifests.ts';
import { extraParts, usualNamespace, usualParts } from '../../src/cli/install/install-parts.ts';

/** docs/security.md says what stops whom, and which test shows it; what it says of roles, the lock file and the manifests is so. */

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'security.md'), 'utf8');

const sources = (folder: string): readonly (readonly [name: string, path: string])[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(file => [file, join(root, folder, file)] as const);

/** Every test file by its name, and by its folder's and its own: `hold`, `core-hold`. */
const files = new Map<string, readonly string[]>();
for (const [, path] of [...sources('src'), ...sources('test')].filter(([file]) => file.endsWith('.test.ts'))) {
  const [folder = '', file = ''] = path.slice(0, -'.test.ts'.length).split('/').slice(-2);
  for (const name of [file, `${folder}-${file}`]) files.set(name, [...(files.get(name) ?? []), path]);
}

type Reference = { readonly file: string; readonly title: string };

/** `FILE: TITLE`, wherever it stands; what is no title of a test has fewer than four words. */
const referencesIn = (markdown: string): readonly Reference[] =>
  [...markdown.matchAll(/(?<![\w`./-])([a-z][a-z-]+): `([^`\n]+)`/g)]
    .map(([, file = '', title = '']) => ({ file, title }))
    .filter(({ title }) => title.split(' ').length > 3);

/** What is wrong with a reference, in words. */
const faultOf = ({ file, title }: Reference): readonly string[] => {
  const [path, ...more] = files.get(file) ?? [];
  if (path === undefined) return [`there is no test file ${file}: ${title}`];
  if (more.length > 0) return [`several test files are called ${file}: name its folder as well, FOLDER-${file}`];
  return readFileSync(path, 'utf8').replaceAll("\\'", "'").includes(title) ? [] : [`${file} has no test: ${title}`];
};

test('every test that it names exists, in the table and elsewhere', () => {
  const references = referencesIn(text);
  assert.ok(references.length >= 45, `${references.length} references found`);
  assert.ok(references.some(({ file }) => file === 'plan-rights') && references.some(({ file }) => file === 'unused-rights'));
  assert.deepEqual(references.flatMap(faultOf), []);
});

test('a reference that is wrong is found, in prose too', () => {
  const wrong = referencesIn(
    'said so (rights: `no test has this name`), hold: `law: whatever the record`, and nowhere: `a test of none`; on update: `nodeSelector`',
  );
  assert.deepEqual(wrong.flatMap(faultOf), [
    'rights has no test: no test has this name',
    'several test files are called hold: name its folder as well, FOLDER-hold',
    'there is no test file nowhere: a test of none',
  ]);
});

test('it names every right of its own, and the roles have them', () => {
  const roles = JSON.stringify([...manifestsOf('rbac'), ...manifestsOf('plans')]);
  const rights = consentPolicies().flatMap(({ kind, metadata }) => {
    const { name } = metadata as { readonly name: string };
    return kind === 'ValidatingAdmissionPolicy' ? [name.slice('drydock-'.length).replace(/-of-plans$/, '')] : [];
  });
  assert.equal(new Set(rights).size, 4);
  for (const right of [...rights, 'be-part', 'write-work']) {
    assert.ok(text.includes(`| \`${right}\` |`), right);
    assert.ok(roles.includes(`"${right}"`), right);
  }
});

const everything: readonly Manifest[] = manifests({
  parts: new Set([...usualParts, ...extraParts]),
  groups: [],
  namespace: usualNamespace,
});

test('what is installed has a NetworkPolicy, and an image is taken by its digest where one is given', () => {
  assert.ok(everything.some(({ kind }) => kind === 'NetworkPolicy'));
  const image = `registry.example.com/drydock@sha256:${'a'.repeat(64)}`;
  const pods = JSON.stringify(manifests({ parts: new Set([...usualParts, ...extraParts]), groups: [], namespace: usualNamespace, image }));
  assert.deepEqual(
    [...pods.matchAll(/"image":"([^"]+)"/g)].map(([, one]) => one),
    [image, image],
  );
});

type Entry = {
  readonly integrity?: string;
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly os?: readonly string[];
  readonly libc?: readonly string[];
  readonly cpu?: readonly string[];
};

/** glibc Linux on these processors is what the project is tested on. */
const isElsewhere = ({ os = [], cpu = [], libc = [] }: Entry): boolean =>
  !os.includes('linux') || libc.includes('musl') || !cpu.some(one => ['x64', 'arm64'].includes(one));

test('every package comes with a hash, but for builds of development tools for platforms on which nothing is tested', () => {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { readonly packages: Readonly<Record<string, Entry>> };
  const entries = Object.entries(lock.packages).filter(([path]) => path !== '');
  assert.ok(entries.length > 150);
  const without = entries.filter(([, { integrity }]) => integrity === undefined || !integrity.startsWith('sha512-'));
  const bad = without.filter(([, entry]) => entry.dev !== true || entry.optional !== true || !isElsewhere(entry)).map(([path]) => path);
  assert.deepEqual(bad, []);
});
