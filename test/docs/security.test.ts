import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { consentPolicies } from '../../src/apis/consent.ts';
import { type Manifest, manifestsOf } from '../../src/cli/install/install-files.ts';
import { manifests } from '../../src/cli/install/install-manifests.ts';
import { extraParts, usualNamespace, usualParts } from '../../src/cli/install/install-parts.ts';

/** docs/security.md says what stops whom, and which test shows it; what it says of roles, the lock file and the manifests is so. */

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'security.md'), 'utf8');

const sources = (folder: string): readonly (readonly [name: string, path: string])[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(file => [file, join(root, folder, file)] as const);

const tests = new Map(
  [...sources('src'), ...sources('test')]
    .filter(([file]) => file.endsWith('.test.ts'))
    .map(([file, path]) => [file.slice(file.lastIndexOf('/') + 1, -'.test.ts'.length), path] as const),
);
/** Names of which several files are called. */
const named = new Map([
  ...tests,
  ['machine-decide', join(root, 'src/core/machine/decide.test.ts')],
  ['hold', join(root, 'src/core/hold/hold.test.ts')],
  ['web-guard', join(root, 'src/web/guard.test.ts')],
]);

test('every test that the threat model names exists', () => {
  const references = [...text.matchAll(/(?<=[|>] ?)([a-z-]+): `([^`]+(?:`[^`|<]+)?)`(?= \||<br>)/g)].map(([, file = '', title = '']) => ({
    file,
    title,
  }));
  assert.ok(references.length >= 20, `${references.length} references found`);
  const missing = references.filter(({ file, title }) => {
    const path = named.get(file);
    return path === undefined || !readFileSync(path, 'utf8').replaceAll("\\'", "'").includes(title);
  });
  assert.deepEqual(missing, []);
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

test('no rule of a role of the operator is for a resource that no code asks for', () => {
  const code = [...sources('src')]
    .filter(([file]) => file.endsWith('.ts') && !file.includes('.test.') && !/^(embedded|ui)\//.test(file))
    .map(([, path]) => readFileSync(path, 'utf8'))
    .join('\n')
    .toLowerCase();
  const operators =
    /^drydock(-(operator|pod-deletion|announcements|machine-maintenances|machines|virtual-machines|plans|node-leases|install-config|agent))?$/;
  const rules = everything
    .filter(({ kind, metadata }) => (kind === 'ClusterRole' || kind === 'Role') && operators.test(metadata.name))
    .flatMap(manifest => manifest['rules'] as readonly { readonly resources?: readonly string[] }[]);
  assert.ok(rules.length > 20);
  const unused = rules
    .flatMap(({ resources = [] }) => resources)
    .filter(resource => !resource.split('/').every(part => code.includes(part.replace(/ies$|s$/, ''))));
  assert.deepEqual(unused, []);
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
