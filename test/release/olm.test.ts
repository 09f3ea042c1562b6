import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Manifest, manifestsIn } from '@drydock/cli/install';
import { run } from '../control-plane/processes/command.ts';
import { checksums, csvName, fileOf, home, makeRelease, unpacked } from '../olm/released.ts';
import { leftOutOf, programIn, validators } from '../olm/validators.ts';
import { drydock } from '../operator/harness/shipped.ts';

/**
 * The bundles and catalogs for OLM, by the validators of operator-framework. opm reads them and OLM
 * itself installs them in test/olm.
 */

const folder = mkdtempSync(join(tmpdir(), 'drydock-olm-'));
const why = leftOutOf(validators);
const skip = why === false ? false : `OLM's validators left out: ${why}`;
const generations = ['olm', 'olm-1'] as const;

const bundles: Record<string, string> = {};
before(async () => {
  await makeRelease();
  for (const generation of generations)
    bundles[generation] = await unpacked(`${generation}-bundle`, folder);
});
after(() => rmSync(folder, { recursive: true }));

function keyOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`;
}

describe('what is made for OLM', () => {
  const csvsOwn = [
    'Deployment drydock',
    'ServiceAccount drydock',
    ...['announcements', 'operator', 'pod-deletion'].flatMap(name => [
      `ClusterRole drydock-${name}`,
      `ClusterRoleBinding drydock-${name}`,
    ]),
  ];
  for (const [generation, made] of [
    [
      'olm',
      [
        ...csvsOwn,
        'Role drydock',
        'RoleBinding drydock',
        'RoleBinding drydock-machine-maintenances',
        'Service drydock-webhook',
        'ValidatingWebhookConfiguration drydock',
      ],
    ],
    ['olm-1', csvsOwn],
  ] as const)
    test(`${generation}: every object of an installation is in the bundle or applied before, but those that OLM makes of the CSV`, async () => {
      const printed = manifestsIn((await drydock(['install'])).stdout);
      const manifests = join(bundles[generation] ?? '', 'manifests');
      const bundled = readdirSync(manifests).flatMap(file =>
        manifestsIn(readFileSync(join(manifests, file), 'utf8')),
      );
      const before = manifestsIn(readFileSync(fileOf(`${generation}-prerequisites.yaml`), 'utf8'));
      const seen = [...bundled, ...before].map(keyOf).sort();
      assert.deepEqual(
        seen,
        [
          ...printed.map(keyOf).filter(key => !made.includes(key)),
          `ClusterServiceVersion ${csvName}`,
        ].sort(),
      );
      for (const one of before)
        assert.deepEqual(
          one,
          printed.find(
            other =>
              keyOf(other) === keyOf(one) && other.metadata.namespace === one.metadata.namespace,
          ),
        );
    });

  test('names the namespace of the operator where it cannot be chosen', () => {
    const manifests = join(bundles['olm-1'] ?? '', 'manifests');
    const text = readFileSync(join(manifests, 'drydock.rolebinding.yaml'), 'utf8');
    assert.match(text, new RegExp(`namespace: ${home}`));
    assert.match(
      readFileSync(join(manifests, 'drydock.clusterserviceversion.yaml'), 'utf8'),
      new RegExp(`suggested-namespace: ${home}`),
    );
  });

  test('is the same, byte for byte, when it is made again', async () => {
    const first = checksums();
    assert.match(first, /drydock-olm-1-catalog-image-[^ ]*\.tar\.gz$/m);
    await makeRelease();
    assert.equal(checksums(), first);
  });
});

type Finding = { readonly level: string; readonly detail: string };

const known = [
  // They mean the kind of policy/v1beta1; the rule is about policy/v1.
  /removed in v1\.25.*Migrate the API\(s\) for poddisruptionbudgets: \(\["ClusterServiceVersion\.Spec\.InstallStrategy/,
  // Nobody writes these but the operator and its agent.
  /Kind=(MachineMaintenance|NodeNotice|MaintenancePlanRecord): provided API should have an example annotation/,
];

describe("operator-framework's validators", { skip }, () => {
  const answer = async (...args: readonly string[]): Promise<unknown> => {
    const { code, stdout, stderr } = await run(programIn(validators, 'validators'), args);
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as unknown;
  };

  for (const generation of generations) {
    test(`${generation}: they find nothing wrong with the bundle; what they warn of is known`, async () => {
      const found = (await answer(
        'bundle',
        join(bundles[generation] ?? '', 'manifests'),
      )) as readonly Finding[];
      assert.deepEqual(
        found.filter(
          ({ level, detail }) => level === 'error' || !known.some(one => one.test(detail)),
        ),
        [],
      );
    });

    test(`${generation}: they take the catalog, with the bundle`, async () => {
      const catalog = join(folder, `${generation}-catalog`);
      mkdirSync(catalog);
      writeFileSync(
        join(catalog, 'catalog.yaml'),
        readFileSync(fileOf(`${generation}-catalog.yaml`)),
      );
      assert.deepEqual(await answer('catalog', catalog), [csvName]);
    });
  }
});
