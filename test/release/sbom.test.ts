import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { bundle } from '../../tools/release/bundle.ts';
import { debianPackages } from '../../tools/release/image/debian.ts';
import { sbomOf } from '../../tools/release/image/sbom.ts';
import { type Platform, platforms } from '../../tools/release/node-binaries.ts';
import type { NodeOrigin } from '../../tools/release/node-origin.ts';
import { root } from '../../tools/release/paths.ts';

/**
 * The bill of materials of the image, by the rules of CycloneDX 1.5 and by what scanners look for.
 * The npm of the machine writes it: 10 and 11 have faults of their own.
 */

type Hash = { readonly alg: string; readonly content: string };
type Component = {
  readonly 'bom-ref': string;
  readonly type: string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly cpe?: string;
  readonly hashes?: readonly Hash[];
  readonly licenses?: readonly object[];
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
  readonly externalReferences?: readonly {
    readonly type: string;
    readonly url: string;
    readonly hashes?: readonly Hash[];
  }[];
};
type Bill = {
  readonly bomFormat: string;
  readonly specVersion: string;
  readonly version: number;
  readonly metadata: { readonly timestamp: string; readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
};

const created = '2026-11-28T12:00:00Z';
const [platform] = platforms as readonly [Platform];
const archive = { url: 'https://nodejs.org/dist/v1.2.3/node.tar.gz', sha256: 'b'.repeat(64) };
const known = { platform, version: '1.2.3', sha256: 'a'.repeat(64), archive };
const same: NodeOrigin = { ...known, check: { kind: 'same' } };

/** Of hexadecimal digits. */
const lengths: Readonly<Record<string, number>> = { 'SHA-256': 64, 'SHA-512': 128 };

function assertUnique(texts: readonly string[], what: string): void {
  assert.deepEqual([...new Set(texts)].sort(), [...texts].sort(), what);
}

describe('the bill of materials of the image', () => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-sbom-'));
  let packages: readonly string[] = [];
  let bill: Bill;
  before(async () => {
    ({ packages } = await bundle(folder, { chunks: true }));
    bill = sbomOf(packages, same, { architecture: 'arm64', created }) as Bill;
  });
  after(() => rmSync(folder, { recursive: true }));
  const named = (name: string): Component | undefined =>
    bill.components.find(one => one.name === name);

  test('is a document of CycloneDX, and the same each time', () => {
    assert.deepEqual([bill.bomFormat, bill.specVersion, bill.version], ['CycloneDX', '1.5', 1]);
    const { timestamp, component } = bill.metadata;
    assert.deepEqual(
      [timestamp, component.type, component.name],
      [created, 'container', 'drydock'],
    );
    assert.deepEqual(sbomOf(packages, same, { architecture: 'arm64', created }), bill);
  });

  test('has what a component needs, and each once', () => {
    for (const one of bill.components) {
      const { 'bom-ref': ref, type, name, version, purl, hashes = [], licenses } = one;
      assert.ok(ref !== '' && name !== '' && version !== '', JSON.stringify(one));
      assert.ok(['library', 'application', 'operating-system'].includes(type), ref);
      for (const { alg, content } of hashes)
        assert.match(content, new RegExp(`^[0-9a-f]{${lengths[alg] ?? 0}}$`), ref);
      if (type !== 'operating-system') assert.ok(purl !== undefined && hashes.length > 0, ref);
      if (purl?.startsWith('pkg:npm/')) assert.equal(licenses?.length, 1, ref);
    }
    assertUnique(
      [bill.metadata.component, ...bill.components].map(one => one['bom-ref']),
      'each has a bom-ref of its own',
    );
  });

  test('has no dependency of something unknown, and nothing that the image does not need', () => {
    const image = bill.metadata.component['bom-ref'];
    const refs = new Set([image, ...bill.components.map(one => one['bom-ref'])]);
    assertUnique(
      bill.dependencies.map(({ ref }) => ref),
      'dependencies',
    );
    const graph = new Map(bill.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    for (const [ref, dependsOn] of graph) {
      assertUnique(dependsOn, ref);
      for (const one of [ref, ...dependsOn]) assert.ok(refs.has(one), one);
    }
    const reached = new Set<string>();
    const walk = (ref: string): void => {
      if (reached.has(ref)) return;
      reached.add(ref);
      for (const next of graph.get(ref) ?? []) walk(next);
    };
    walk(image);
    assert.deepEqual(refs.difference(reached), new Set());
  });

  test('names the packages whose code is in the image, those of the page too, and no others', () => {
    const npm = bill.components.filter(one => one.purl?.startsWith('pkg:npm/'));
    // Of some there are two versions, one within the folder of the package that needs it.
    const bundled = packages.map(path => path.replace(/^.*node_modules\//, ''));
    const inPage = ['preact', '@preact/signals', '@preact/signals-core'];
    assert.deepEqual(npm.map(one => one.name).sort(), [...bundled, ...inPage].sort());
    for (const { name, version, purl, properties = [] } of npm) {
      assert.equal(purl, `pkg:npm/${name.replace('@', '%40')}@${version}`);
      assert.ok(!properties.some(one => one.name.includes('development')), name);
    }
    assert.ok(bundled.includes('@aws-sdk/client-ec2') && !bundled.includes('typescript'));
  });

  test('is refused when npm knows nothing of a package in the bundle', () => {
    writeFileSync(join(folder, 'package.json'), '{ "name": "another", "version": "1.0.0" }');
    const wrong = [...packages, relative(root, folder)];
    assert.throws(
      () => sbomOf(wrong, same, { architecture: 'arm64', created }),
      /^Error: npm sbom says nothing of another@1\.0\.0, which the bundle has: run npm ci/,
    );
  });

  test('names Node as scanners do, and where it comes from only when that has been seen', () => {
    const expected = {
      type: 'application',
      version: '1.2.3',
      purl: 'pkg:generic/node@1.2.3',
      cpe: 'cpe:2.3:a:nodejs:node.js:1.2.3:*:*:*:*:*:*:*',
      hashes: [{ alg: 'SHA-256', content: 'a'.repeat(64) }],
    };
    assert.partialDeepStrictEqual(named('node'), expected);
    const hashes = [{ alg: 'SHA-256', content: archive.sha256 }];
    assert.deepEqual(named('node')?.externalReferences, [
      { type: 'distribution', url: archive.url, hashes },
    ]);
    const unchecked: NodeOrigin = { ...known, check: { kind: 'unchecked', cause: '404' } };
    const other = sbomOf(packages, unchecked, { architecture: 'arm64', created }) as Bill;
    const node = other.components.find(({ name }) => name === 'node');
    assert.partialDeepStrictEqual(node, expected);
    assert.equal(node?.externalReferences, undefined);
  });

  test('names the packages of Debian by release, architecture and source, below the system', () => {
    const system = bill.components.filter(({ type }) => type === 'operating-system');
    assert.deepEqual(
      system.map(({ name, version, purl }) => ({ name, version, purl })),
      [{ name: 'debian', version: '13', purl: undefined }],
    );
    const [{ 'bom-ref': ref } = { 'bom-ref': '' }] = system;
    const below = bill.dependencies.find(one => one.ref === ref)?.dependsOn ?? [];
    assert.equal(below.length, debianPackages.length);
    const libc = named('libc6');
    assert.match(
      libc?.purl ?? '',
      /^pkg:deb\/debian\/libc6@2\.41-[\w.%-]+\?arch=arm64&distro=debian-13&upstream=glibc$/,
    );
    assert.deepEqual(libc?.properties, [{ name: 'aquasecurity:trivy:SrcName', value: 'glibc' }]);
    assert.match(named('ca-certificates')?.purl ?? '', /\?arch=all&distro=debian-13$/);
    assert.match(named('libstdc++6')?.purl ?? '', /^pkg:deb\/debian\/libstdc%2B%2B6@/);
  });
});
