import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { crdTexts, defaultGroups } from '@drydock/apis/crds';
import { program } from '@drydock/cli';
import { createCluster, inProcess } from '@drydock/kube-sim';
import { VirtualClock } from '@drydock/utils';
import type { Command } from 'commander';
import { parse, parseAllDocuments } from 'yaml';
import { blocksOf, documents, root } from '../commands/blocks.ts';

/**
 * Whatever a document says can be set can be set: every flag, every variable and every field that
 * is named is looked for where it would be read.
 */

const texts = new Map(documents.map(name => [name, readFileSync(join(root, name), 'utf8')]));

function withInner(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(withInner)];
}
const commands = withInner(program({}));
function flagsOf({ options }: Command): readonly string[] {
  return options.flatMap(({ long }) => long ?? []);
}
const allFlags = new Set(['--help', ...commands.flatMap(flagsOf)]);

/** The command that a line calls: `drydock plan create …`. */
function calledIn(line: string): Command | undefined {
  const words = /(?:^|[\s`(])(?:drydock|kubectl drydock)((?: [a-z][a-z-]*)+)/
    .exec(line)?.[1]
    ?.trim()
    .split(' ');
  let found: Command | undefined = commands[0];
  for (const word of words ?? [])
    found =
      found?.commands.find(one => one.name() === word || one.aliases().includes(word)) ?? found;
  return words === undefined || found === commands[0] ? undefined : found;
}

const flag = /(?<![\w-])--[a-z][a-z0-9-]*/g;

describe('flags', () => {
  test('behind a command of Drydock, in code, every flag is one of that command', () => {
    const wrong: string[] = [];
    let tried = 0;
    for (const [name, text] of texts)
      for (const code of text.matchAll(/`[^`\n]+`|^(?:\$ )?(?:kubectl )?drydock .*$/gm)) {
        const [line] = code[0].split(/ \| | && |; /);
        const command = calledIn(line ?? '');
        if (command === undefined) continue;
        const known = new Set(['--help', ...flagsOf(command)]);
        // What is handed to another program comes behind two dashes.
        for (const [one] of (line ?? '').split(' -- ')[0]?.matchAll(flag) ?? []) {
          tried += 1;
          if (!known.has(one)) wrong.push(`${name}: ${command.name()} ${one}`);
        }
      }
    assert.deepEqual(wrong, []);
    assert.ok(tried > 60, String(tried));
  });

  /**
   * Pages about Drydock alone: flags there are Drydock's, but for those of the programs that the
   * same line names.
   */
  const own = [
    'docs/machines.md',
    'docs/machine-events.md',
    'docs/windows.md',
    'docs/maintenance.md',
    'docs/plans.md',
  ];
  const others = /kubectl|kube-controller-manager|curl|npm|helm|kured|cosign/;
  test('on the pages about Drydock alone every flag is one of some command', () => {
    const wrong = own.flatMap(name =>
      (texts.get(name) ?? '')
        .split('\n')
        .filter(line => !others.test(line))
        .flatMap(line => [...line.matchAll(flag)].map(([one]) => one))
        .filter(one => !allFlags.has(one))
        .map(one => `${name}: ${one}`),
    );
    assert.deepEqual(wrong, []);
  });
});

/** Words of others that look like variables. */
const noVariables = new Set([
  'MIGRATE_ON_HOST_MAINTENANCE',
  'TERMINATE_ON_HOST_MAINTENANCE',
  'HEALTH_OK',
  'VERIFY_RESIZE',
]);
/** Read by what Drydock is compared with, or by a library. */
const readElsewhere = /^(AWS_|SYSTEM_UPGRADE_|DISABLE_HTTP2$|USE_EXISTING_CLUSTER$)/;

function filesIn(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.(ts|mjs|yaml)$/.test(name))
    .map(name => readFileSync(join(root, folder, name), 'utf8'));
}

test('every variable that is named is read somewhere', () => {
  const sources = ['packages', 'scripts', 'tools', 'test'].flatMap(filesIn).join('\n');
  const named = new Set(
    [...texts.values()].flatMap(text =>
      [...text.matchAll(/\b[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+\b/g)].map(([name]) => name),
    ),
  );
  const variables = [...named].filter(name => !noVariables.has(name) && !readElsewhere.test(name));
  assert.ok(variables.length > 10, variables.join());
  const isRead = (name: string): boolean =>
    new RegExp(`(env\\[|env\\.|['"\`\\s.{])${name}\\b`).test(sources);
  assert.deepEqual(
    variables.filter(name => !isRead(name)),
    [],
  );
});

const definitions = crdTexts([...defaultGroups]).map(text => parse(text) as JsonObject);

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly [key: string]: unknown;
};
const schemas: readonly Schema[] = definitions.flatMap(({ spec }) =>
  (
    spec as unknown as {
      readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: Schema } }[];
    }
  ).versions.map(({ schema }) => schema.openAPIV3Schema),
);

function hasPath(schema: Schema | undefined, path: readonly string[]): boolean {
  const [first, ...rest] = path;
  if (schema === undefined) return false;
  if (first === undefined || schema['x-kubernetes-preserve-unknown-fields'] === true) return true;
  return schema.items === undefined
    ? hasPath(schema.properties?.[first], rest)
    : hasPath(schema.items, path);
}

/** Fields of kinds that are not Drydock's. */
const fieldsOfOthers = new Set([
  'spec.clusterName',
  'spec.evictionResponders',
  'spec.evictionStrategy',
  'spec.install.preflight.crdUpgradeSafety.enforcement',
  'spec.paused',
  'spec.providerID',
  'spec.unschedulable',
  'status.applying',
  'status.authoritativeAPI',
  'status.currentNodes',
  'status.nodeRef',
  'status.rebootingNodes',
  'status.volumesAttached',
]);

test('every field that is named by its path is a field of some kind', () => {
  const named = new Set(
    [...texts.values()].flatMap(text =>
      [...text.matchAll(/`((?:spec|status)(?:\.[a-zA-Z]+)+)/g)].map(([, path = '']) => path),
    ),
  );
  const wrong = [...named].filter(
    path => !fieldsOfOthers.has(path) && !schemas.some(schema => hasPath(schema, path.split('.'))),
  );
  assert.deepEqual(wrong, []);
  assert.ok(named.size > 20);
});

const objects = documents
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'yaml')
  .flatMap(({ place, text }) =>
    parseAllDocuments(text).map(document => ({ place, object: document.toJS() as Json })),
  );

/** Of the definitions: group/version/Kind, and where it is served. */
const resources: ReadonlyMap<string, string> = new Map(
  definitions.flatMap(({ spec }) => {
    const { group, names, versions, scope } = spec as unknown as {
      readonly group: string;
      readonly scope: string;
      readonly names: { readonly kind: string; readonly plural: string };
      readonly versions: readonly { readonly name: string }[];
    };
    const namespace = scope === 'Namespaced' ? 'namespaces/default/' : '';
    return versions.map(
      ({ name }) =>
        [
          `${group}/${name} ${names.kind}`,
          `/apis/${group}/${name}/${namespace}${names.plural}`,
        ] as const,
    );
  }),
);

function kindOf(object: Json): string {
  const { apiVersion, kind } = isObject(object) ? object : {};
  return typeof apiVersion === 'string' && typeof kind === 'string' ? `${apiVersion} ${kind}` : '';
}

test('every object of Drydock in the documents is taken by the API server, strictly, and so is every rule for signals', async () => {
  const api = inProcess(createCluster({ clock: new VirtualClock(), random: () => 0.5 }), {
    userAgent: 'docs',
  });
  for (const body of definitions)
    await api.call({
      method: 'POST',
      path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
      body,
    });
  const refusalOf = async (object: JsonObject): Promise<string> => {
    const path = resources.get(kindOf(object)) ?? '';
    const query = { fieldValidation: 'Strict', dryRun: 'All' };
    const metadata = { ...(object['metadata'] as JsonObject) };
    delete (metadata as Record<string, unknown>)['namespace'];
    const { status, body } = await api.call({
      method: 'POST',
      path,
      query,
      body: { ...object, metadata },
    });
    return status === 201 ? '' : `${(body as { readonly message?: string }).message ?? status}`;
  };
  const ours = objects.filter(({ object }) => resources.has(kindOf(object)));
  const kinds = new Set(ours.map(({ object }) => kindOf(object)));
  assert.ok(ours.length > 15 && kinds.size >= 4, `${ours.length} of ${[...kinds].join()}`);
  for (const { place, object } of ours)
    assert.equal(await refusalOf(object as JsonObject), '', place);
  const rules = objects.filter(
    ({ place, object }) => place.startsWith('docs/machine-events.md') && Array.isArray(object),
  );
  assert.ok(rules.length > 0);
  const source = (signals: Json): JsonObject => ({
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'MachineEventSource',
    metadata: { name: 'docs' },
    spec: { signals },
  });
  for (const { place, object } of rules) assert.equal(await refusalOf(source(object)), '', place);
  assert.match(
    await refusalOf(source([{ condition: { type: 'x', messageHas: 'y' }, kind: 'stop' }])),
    /unknown field/,
  );
});
