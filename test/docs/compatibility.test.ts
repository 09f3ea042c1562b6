import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { lacking } from '@drydock/apimachinery';
import { withTable } from '../../tools/neighbours/table.ts';
import { newest, releases } from '../control-plane/releases.ts';

/**
 * docs/compatibility.md promises a test for each row: the promise is kept as long as these tests
 * exist under their titles.
 */

const root = join(import.meta.dirname, '..', '..');
// Without the table that is written: test/docs/neighbours.test.ts has that one.
const text = withTable(readFileSync(join(root, 'docs', 'compatibility.md'), 'utf8'), '');

function inFolder(
  folder: string,
  ...names: readonly string[]
): readonly (readonly [string, string])[] {
  return names.map(name => [name, `${folder}/${name}.test.ts`] as const);
}

const files = new Map<string, string>([
  ...inFolder(
    'test/operator',
    'contract',
    'maintenance',
    'lifecycle',
    'generations',
    'admission',
    'quorum',
    'handover',
  ),
  ...inFolder('test/operator/commands', 'commands', 'drain-command'),
  ['install', 'test/deploy/install.test.ts'],
  ['machine-decide', 'packages/core/src/machine/decide.test.ts'],
  ['machines', 'packages/operator/src/simulated/machines.test.ts'],
  ['stories', 'test/integrations/stories.ts'],
  ['announcements', 'test/integrations/announcements.test.ts'],
  ['kill', 'test/kill/kill.test.ts'],
  ...inFolder('test/predecessors', 'takeover', 'migrate'),
  ['predecessors', 'test/predecessors/contract.test.ts'],
  ...inFolder('packages/apis/src/node-maintenance', 'node-maintenance', 'kubevirt'),
  ['webhooks', 'packages/apis/src/admission-rules/admission.test.ts'],
  ...inFolder('packages/core/src/drain', 'filters', 'plan', 'tally'),
  ['eviction-outcome', 'packages/core/src/drain/outcome/eviction-outcome.test.ts'],
  ['lease', 'packages/core/src/lease/lease.test.ts'],
  ['hold', 'packages/core/src/hold/hold.test.ts'],
  ['decide', 'packages/core/src/maintenance/decide.test.ts'],
  ['etcd-guard', 'packages/core/src/quorum/etcd-guard.test.ts'],
  ['node-reconciler', 'packages/operator/src/node/node-reconciler.test.ts'],
  ['hypervisor-reconciler', 'packages/openstack/src/hypervisor-reconciler.test.ts'],
  ['work-queue', 'packages/operator/src/work-queue.test.ts'],
  ['writer', 'packages/operator/src/write/writer.test.ts'],
  ['admission-handler', 'packages/operator/src/admission/admission-handler.test.ts'],
  ...inFolder('packages/operator/src/admission/certificates', 'follow', 'ca-bundle-injector'),
  ['flags', 'packages/cli/src/manager/operator-flags.test.ts'],
  ['manifests', 'packages/cli/src/install/install-manifests.test.ts'],
  ['metrics', 'packages/operator/src/serving/metrics-documented.test.ts'],
  ['documents', 'test/commands/documents.test.ts'],
  ...inFolder('test/release', 'chart', 'released', 'image'),
  ...inFolder('test/olm', 'olm', 'olm-1'),
  ['installed', 'test/nodes/installed.test.ts'],
]);

const sources = new Map(
  [...files].map(([name, file]) => [
    name,
    existsSync(join(root, file)) ? readFileSync(join(root, file), 'utf8') : '',
  ]),
);

/** Up to the first chapter whose rows name tests. */
const [releaseTable = ''] = /^## Releases of Kubernetes$[^]*?(?=^## )/m.exec(text) ?? [];

const rows = text
  .replace(releaseTable, '')
  .split('\n')
  .filter(
    line => line.startsWith('| ') && !/^\| (item|#|situation|test of M|weakness) \|/.test(line),
  );
const references = [...text.matchAll(/(?<=[|>] ?)([a-z0-9-]+): `([^`]+)`/g)].map(
  ([, file = '', title = '']) => ({ file, title }),
);

test('every test that the document names exists', () => {
  assert.ok(references.length > 100, `${references.length} references found`);
  const missing = references.filter(
    ({ file, title }) => sources.get(file)?.includes(title) !== true,
  );
  assert.deepEqual(missing, []);
});

test('every row names a test', () => {
  const bare = rows.filter(
    row => !/[a-z0-9-]+: `/.test(row) && !row.includes('the two tables below'),
  );
  assert.deepEqual(bare, []);
});

test('every weakness has its row', () => {
  const numbers = [
    ...Array.from({ length: 24 }, (_, n) => `M${n + 1}`),
    ...Array.from({ length: 13 }, (_, n) => `K${n + 1}`),
  ];
  const missing = numbers.filter(number => !text.includes(`| ${number} | `));
  assert.deepEqual(missing, []);
});

test('the table of releases names what the control plane of the tests is built from', () => {
  for (const { name, version, minor } of releases.filter(one =>
    ['1.30', '1.34', newest.name].includes(one.name),
  )) {
    assert.ok(releaseTable.includes(`\n| ${name} | `), name);
    assert.ok(releaseTable.includes(version.slice(1)), version);
    assert.equal(
      releaseTable.includes('selectableFields'),
      lacking({ minor: 30 }).length > 0,
      String(minor),
    );
  }
});

test('the versions of what it runs on are those that the tests build', () => {
  const [platforms = ''] = /^## What it runs on$[^]*?(?=^## )/m.exec(text) ?? [];
  const built = [
    ['test/release/helm-3', 'helm.sh/helm/v3'],
    ['test/release/helm-4', 'helm.sh/helm/v4'],
    ['test/release/krew', 'sigs.k8s.io/krew'],
    ['test/olm/controllers', 'github.com/operator-framework/operator-lifecycle-manager'],
    ['test/olm/controllers-1', 'github.com/operator-framework/operator-controller'],
  ] as const;
  for (const [folder, module] of built) {
    const [, version = 'none'] =
      new RegExp(`${module} v([\\d.]+)$`, 'm').exec(
        readFileSync(join(root, folder, 'go.mod'), 'utf8'),
      ) ?? [];
    assert.ok(platforms.includes(version), `${module} ${version}`);
  }
  assert.ok(platforms.includes(newest.version.slice(1)), newest.version);
});
