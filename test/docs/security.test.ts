import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { consentPolicies } from '@drydock/apis/admission-rules';
import {
  defaultNamespace,
  defaultParts,
  extraParts,
  type Manifest,
  manifests,
  manifestsOf,
} from '@drydock/cli/install';
import { platforms } from '../../tools/release/node-binaries.ts';
import { manifest } from '../../tools/release/paths.ts';

/**
 * docs/security.md says what stops whom, and which test shows it; what it says of roles, the lock
 * file and the manifests is so.
 */

const root = join(import.meta.dirname, '..', '..');
const text = readFileSync(join(root, 'docs', 'security.md'), 'utf8');

function sources(folder: string): readonly (readonly [name: string, path: string])[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map(
    file => [file, join(root, folder, file)] as const,
  );
}

type Row = {
  readonly row: string;
  readonly tests: readonly { readonly file: string; readonly title: string }[];
};

const rows = JSON.parse(
  readFileSync(join(root, 'test', 'security', 'holds.json'), 'utf8'),
) as readonly Row[];

/** Every test file by its name, and by its folder's and its own: `hold`, `core-hold`. */
const files = new Map<string, readonly string[]>();
for (const [, path] of [...sources('packages'), ...sources('test')].filter(([file]) =>
  file.endsWith('.test.ts'),
)) {
  const [folder = '', file = ''] = path.slice(0, -'.test.ts'.length).split('/').slice(-2);
  for (const name of [file, `${folder}-${file}`])
    files.set(name, [...(files.get(name) ?? []), path]);
}

test('every row of its table has tests, as many as it says, and each of them exists', () => {
  const linked = [...text.matchAll(/\| \[(\d+)\]\(security-tests\.md#([a-z0-9-]+)\) \|$/gm)].map(
    ([, many = '', row = '']) => ({
      row,
      many: Number(many),
    }),
  );
  assert.ok(linked.length >= 35, `${linked.length} rows`);
  assert.deepEqual(
    linked,
    rows.map(({ row, tests }) => ({ row, many: tests.length })),
  );
  const table = text
    .split('\n')
    .filter(line => line.startsWith('| ') && /\]\(security-tests\.md#/.test(line));
  assert.equal(table.length, linked.length);
  const faults = rows.flatMap(({ row, tests }) =>
    tests.flatMap(({ file, title }) => {
      const [path, ...more] = files.get(file) ?? [];
      if (path === undefined || more.length > 0)
        return [`${row}: ${more.length} other test files are called ${file}`];
      return readFileSync(path, 'utf8').replaceAll("\\'", "'").includes(title)
        ? []
        : [`${row}: ${file} has no test: ${title}`];
    }),
  );
  assert.deepEqual(faults, []);
});

test('it names every right of its own, and the roles have them', () => {
  const roles = JSON.stringify([...manifestsOf('rbac'), ...manifestsOf('plans')]);
  const rights = consentPolicies().flatMap(({ kind, metadata }) => {
    const { name } = metadata as { readonly name: string };
    return kind === 'ValidatingAdmissionPolicy'
      ? [name.slice('drydock-'.length).replace(/-of-plans$/, '')]
      : [];
  });
  assert.equal(new Set(rights).size, 5);
  for (const right of [...rights, 'be-part', 'write-work']) {
    assert.ok(text.includes(`| \`${right}\` |`), right);
    assert.ok(roles.includes(`"${right}"`), right);
  }
});

const everything: readonly Manifest[] = manifests({
  parts: new Set([...defaultParts, ...extraParts]),
  groups: [],
  namespace: defaultNamespace,
});

test('what is installed has a NetworkPolicy, and an image is taken by its digest where one is given', () => {
  assert.ok(everything.some(({ kind }) => kind === 'NetworkPolicy'));
  const image = `registry.example.com/drydock@sha256:${'a'.repeat(64)}`;
  const pods = JSON.stringify(
    manifests({
      parts: new Set([...defaultParts, ...extraParts]),
      groups: [],
      namespace: defaultNamespace,
      image,
    }),
  );
  assert.deepEqual(
    [...pods.matchAll(/"image":"([^"]+)"/g)].map(([, one]) => one),
    [image, image],
  );
});

test('every package in the lock file has a hash, for whatever platform it is', () => {
  type Entry = { readonly integrity?: string; readonly link?: boolean };
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Entry>>;
  };
  const entries = Object.entries(lock.packages).filter(
    // The packages of this clone are no downloads.
    ([path, { link }]) => path !== '' && link !== true && !path.startsWith('packages/'),
  );
  assert.ok(entries.length > 150);
  const without = entries
    .filter(([, { integrity }]) => integrity?.startsWith('sha512-') !== true)
    .map(([path]) => path);
  assert.deepEqual(without, [], 'npm run complete-lock adds them');
});

test("the checksums of Node are Node's own for the version that is pinned", () => {
  const file = 'tools/release/SHASUMS256.txt.asc';
  const sums = readFileSync(join(root, file), 'utf8');
  assert.match(sums, /^-----BEGIN PGP SIGNED MESSAGE-----$[^]*^-----END PGP SIGNATURE-----$/m);
  for (const { name, brings } of platforms) {
    const archive = `node-v${manifest.optionalDependencies[brings] ?? ''}-${name}.tar.gz`;
    const found = sums.split('\n').filter(line => line.endsWith(`  ${archive}`));
    assert.match(
      found.join('\n'),
      /^[0-9a-f]{64} {2}\S+$/,
      `${file} has no ${archive}: RELEASING.md`,
    );
  }
});
