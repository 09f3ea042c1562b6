import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { run } from '../control-plane/processes/command.ts';
import { crane, type Registry, startRegistry } from '../release/crane.ts';
import { opm } from './controllers.ts';
import { csvName, fileOf, makeRelease, unpacked } from './released.ts';
import { leftOutOf, programIn } from './validators.ts';

/** The bundles and catalogs for OLM, as files and as images, read by opm. */

type Property = { readonly type: string; readonly value: { readonly data?: string } };
type Blob = {
  readonly schema: string;
  readonly name: string;
  readonly properties: readonly Property[];
};

/** The same text for the same value, in whatever order its fields and elements are. */
function inOrder(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOrder).sort().join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, item]) => `${name}:${inOrder(item)}`);
  return `{${fields.sort().join()}}`;
}

/** Properties of the one bundle in a catalog; of embedded objects, the objects. */
function propertiesIn(blobs: readonly Blob[]): readonly string[] {
  const [bundle, ...more] = blobs.filter(
    ({ schema, name }) => schema === 'olm.bundle' && name === csvName,
  );
  assert.ok(bundle !== undefined && more.length === 0);
  const found = bundle.properties.map(({ type, value: { data, ...value } }) => {
    const object: unknown =
      data === undefined ? value : JSON.parse(Buffer.from(data, 'base64').toString());
    return `${type} ${inOrder(object)}`;
  });
  return found.sort();
}

describe('opm', { skip: leftOutOf(opm, crane) }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'drydock-opm-'));
  let registry: Registry | undefined;
  before(async () => {
    await makeRelease();
    registry = await startRegistry();
  });
  after(() => {
    registry?.stop();
    rmSync(folder, { recursive: true });
  });

  const rendered = async (...args: readonly string[]): Promise<readonly string[]> => {
    const { code, stdout, stderr } = await run(
      programIn(opm, 'opm'),
      ['render', '--output', 'json', '--use-http', ...args],
      {
        cwd: folder,
      },
    );
    assert.equal(code, 0, stderr);
    return propertiesIn(
      JSON.parse(`[${stdout.replaceAll(/^\}\n\{$/gm, '},\n{')}]`) as readonly Blob[],
    );
  };
  const pushed = async (what: string): Promise<string> => {
    await registry?.push(await unpacked(`${what}-image`, folder), `${what}:1`);
    return `${registry?.address ?? ''}/${what}:1`;
  };

  for (const [generation, migrations] of [
    ['olm', []],
    ['olm-1', ['--migrate']],
  ] as const)
    test(`${generation}: it takes the catalog, and would have made the same of the bundle, as files and as images`, async () => {
      const catalog = join(folder, `${generation}-catalog`);
      mkdirSync(catalog);
      writeFileSync(
        join(catalog, 'catalog.yaml'),
        readFileSync(fileOf(`${generation}-catalog.yaml`)),
      );
      const validated = await run(programIn(opm, 'opm'), ['validate', catalog]);
      assert.equal(validated.code, 0, validated.stderr);
      const ours = await rendered(catalog);
      assert.ok(ours.length > 5);
      const bundle = await unpacked(`${generation}-bundle`, folder);
      assert.deepEqual(
        await rendered(bundle, '--alpha-image-ref-template', 'any:1', ...migrations),
        ours,
      );
      assert.deepEqual(await rendered(await pushed(`${generation}-bundle`), ...migrations), ours);
      assert.deepEqual(await rendered(await pushed(`${generation}-catalog`)), ours);
    });
});
