import assert from 'node:assert/strict';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { builtInKinds } from '@drydock/kube-sim/kinds';
import { startControlPlane } from '../../control-plane/control-plane.ts';
import { run } from '../../control-plane/processes/command.ts';
import { compact, GoTypes, type Numbers, numbered, type Swagger } from './compact.ts';
import { roots } from './roots.ts';

/**
 * With DRYDOCK_TEST_UPDATE=1 the tables are written as the real server has them, instead of being
 * compared with it.
 */
const update = process.env['DRYDOCK_TEST_UPDATE'] === '1';
const folder = join(import.meta.dirname, '..', '..', '..', 'packages', 'kube-sim', 'src');
const modules = join(import.meta.dirname, '..', '..', 'control-plane');

const controlPlane = await startControlPlane({
  without: ['kube-controller-manager', 'kube-scheduler', 'kwok'],
});
const skip =
  controlPlane.kind === 'left-out' ? `control plane left out: ${controlPlane.why}` : false;

function holds(file: string, wanted: unknown): void {
  const path = join(folder, file);
  if (update) writeFileSync(path, `${JSON.stringify(wanted, undefined, 1)}\n`);
  assert.deepEqual(
    JSON.parse(readFileSync(path, 'utf8')),
    wanted,
    `${file} is not what the real server says: run this test with DRYDOCK_TEST_UPDATE=1`,
  );
}

async function folderOf(module: string): Promise<string> {
  const { code, stdout, stderr } = await run('go', ['list', '-m', '-f', '{{.Dir}}', module], {
    cwd: modules,
  });
  if (code !== 0 || stdout.trim() === '') throw new Error(`no sources of ${module}: ${stderr}`);
  return stdout.trim();
}

/** `1=name 2=spec`, by the name of the message. */
function messagesIn(text: string): readonly (readonly [name: string, numbers: string])[] {
  return [...text.matchAll(/^message (\w+) \{\n([^]*?)^\}/gm)].map(([, name = '', body = '']) => {
    const fields = [
      ...body.matchAll(
        /^ {2}(?:optional|repeated|required|map<[^>]*>) ?(?:[\w.]+ )?(\w+) = (\d+);/gm,
      ),
    ];
    const numbered = fields
      .map(([, field = '', number = '']) => [Number(number), field] as const)
      .toSorted(([one], [other]) => one - other);
    return [name, numbered.map(([number, field]) => `${number}=${field}`).join(' ')];
  });
}

describe('what the embedded API server knows of the kinds is what the real one says', {
  skip,
  timeout: 60_000,
}, () => {
  after(async () => {
    if (controlPlane.kind === 'started') await controlPlane.stop();
  });

  test('the types of the served kinds, and the numbers of their fields in protobuf', async () => {
    if (controlPlane.kind !== 'started') return;
    const modules = ['k8s.io/api', 'k8s.io/apimachinery', 'k8s.io/apiextensions-apiserver'];
    const folders = new Map(
      await Promise.all(modules.map(async module => [module, await folderOf(module)] as const)),
    );
    const swagger = await controlPlane.api.get<Swagger>('/openapi/v2');
    const go = new GoTypes(module => folders.get(module) ?? '');
    holds('kinds/types.json', compact(swagger, go, roots));
    holds('protobuf/numbers.json', numbered(swagger, go, roots));
  });

  test('the numbers are those of the .proto files, and none is left out', async () => {
    const folders = await Promise.all(
      ['k8s.io/api', 'k8s.io/apimachinery', 'k8s.io/apiextensions-apiserver'].map(folderOf),
    );
    const messages = new Map<string, readonly string[]>();
    for (const file of folders.flatMap(folder =>
      globSync('**/generated.proto', { cwd: folder }).map(name => join(folder, name)),
    )) {
      const group = file.split('/').at(-3) ?? '';
      for (const [name, numbers] of messagesIn(readFileSync(file, 'utf8'))) {
        const key = `${group}.${name}`;
        messages.set(key, [...(messages.get(key) ?? []), numbers]);
      }
    }
    const { types } = JSON.parse(
      readFileSync(join(folder, 'protobuf', 'numbers.json'), 'utf8'),
    ) as Numbers;
    // The files have a few names in capitals, and names of their own for embedded structs.
    const plain = (text: string, inline: ReadonlySet<string>): string =>
      text
        .split(' ')
        .map(field =>
          inline.has(field.split('=')[0] ?? '') ? `${field.split('=')[0]}=+` : field.toLowerCase(),
        )
        .join(' ');
    const wrong = Object.entries(types).filter(([name, numbers]) => {
      const inline = new Set([...numbers.matchAll(/(\d+)=\+/g)].map(([, number = '']) => number));
      return !(messages.get(name) ?? []).some(
        text => plain(text, inline) === plain(numbers, inline),
      );
    });
    assert.deepEqual(
      wrong.map(([name, numbers]) => [name, numbers, messages.get(name)]),
      [],
    );
  });

  test('the columns of their tables', async () => {
    if (controlPlane.kind !== 'started') return;
    const { server, ca, token } = controlPlane.accessOf('admin');
    const { request } = await import('node:https');
    const table = (path: string): Promise<unknown> =>
      new Promise((resolve, reject) => {
        const headers = {
          authorization: `Bearer ${token ?? ''}`,
          accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
        };
        const asked = request(
          server + path,
          { headers, ...(ca === undefined ? {} : { ca }) },
          answer => {
            let text = '';
            answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
            answer.once('end', () =>
              resolve(
                (JSON.parse(text) as { readonly columnDefinitions: unknown }).columnDefinitions,
              ),
            );
          },
        );
        asked.once('error', reject).end();
      });
    const entries = builtInKinds.map(async ({ group, version, plural, resource }) => {
      const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
      return [resource, await table(`${root}/${plural}`)] as const;
    });
    const crds = [
      'customresourcedefinitions.apiextensions.k8s.io',
      await table('/apis/apiextensions.k8s.io/v1/customresourcedefinitions'),
    ] as const;
    holds('kinds/columns.json', Object.fromEntries([...(await Promise.all(entries)), crds]));
  });
});
