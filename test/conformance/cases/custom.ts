import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import type { Case, Site } from '../site.ts';

const definitionsPath = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

type Schema = Readonly<Record<string, unknown>>;

const spec: Schema = {
  type: 'object',
  required: ['a'],
  properties: {
    a: {
      type: 'string',
      minLength: 2,
      maxLength: 4,
      'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'a is fixed' }],
    },
    n: { type: 'integer', format: 'int32', minimum: 1, maximum: 5 },
    e: { type: 'string', enum: ['X', 'Y'], default: 'X' },
    p: { type: 'string', pattern: '^a+$' },
    l: { type: 'array', maxItems: 2, minItems: 1, items: { type: 'string', maxLength: 20 } },
    m: { type: 'object', additionalProperties: { type: 'string' } },
    t: { type: 'string', format: 'date-time' },
    any: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    is: { 'x-kubernetes-int-or-string': true },
    nullable: { type: 'string', nullable: true },
    k: {
      type: 'array',
      maxItems: 10,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['id'],
      items: {
        type: 'object',
        required: ['id'],
        properties: { id: { type: 'string', maxLength: 10 }, v: { type: 'number' } },
      },
    },
    b: { type: 'boolean' },
    deep: { type: 'object', default: {}, properties: { x: { type: 'integer', default: 7 } } },
  },
  'x-kubernetes-validations': [
    { rule: '!has(self.n) || self.n != 4', message: 'not four' },
    { rule: "!has(self.l) || self.l.all(x, size(x) > 1 || x == 'z')" },
    {
      rule: "self.e == 'X' ? true : has(self.b)",
      messageExpression: "'with ' + self.e + ' comes b'",
    },
    {
      rule: "!has(self.k) || self.k.exists(x, x.id in ['one', 'two'])",
      message: 'one or two',
      reason: 'FieldValueForbidden',
      fieldPath: '.k',
    },
  ],
};

function version(more: Schema = {}): Schema {
  return {
    name: 'v1',
    served: true,
    storage: true,
    subresources: { status: {} },
    additionalPrinterColumns: [
      { name: 'A', type: 'string', jsonPath: '.spec.a' },
      { name: 'N', type: 'integer', jsonPath: '.spec.n', description: 'd', priority: 1 },
      { name: 'Yes', type: 'string', jsonPath: '.status.conditions[?(@.type=="Yes")].status' },
      { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
    ],
    selectableFields: [{ jsonPath: '.spec.a' }, { jsonPath: '.spec.n' }],
    schema: {
      openAPIV3Schema: {
        type: 'object',
        required: ['spec'],
        properties: {
          spec,
          status: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
    },
    ...more,
  };
}

function pluralOf(at: Site): string {
  return `things${at.id.replaceAll('-', '')}`;
}
function kindOf(at: Site): string {
  return `Thing${at.id.replaceAll('-', '')}`;
}
const group = 'conformance.example.com';

function definition(
  at: Site,
  versions: readonly Schema[] = [version()],
  scope = 'Namespaced',
): Schema {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${pluralOf(at)}.${group}` },
    spec: {
      group,
      scope,
      names: {
        plural: pluralOf(at),
        kind: kindOf(at),
        shortNames: [`t${at.id.replaceAll('-', '')}`],
      },
      versions,
    },
  };
}

/** Creates a definition and waits until its objects are served. */
async function define(at: Site, given = definition(at)): Promise<void> {
  await at.has(definitionsPath, given);
  await served(at, things(at));
}

async function served(at: Site, path: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    if ((await at.get(path, { compared: false })).status === 200) return;
    await sleep(50);
  }
  throw new Error(`${path} is not served`);
}

function things(at: Site, ...rest: readonly string[]): string {
  return at.path(`${group}/v1/${pluralOf(at)}`, ...rest);
}
function thing(at: Site, given: unknown, more: Schema = {}): Schema {
  return {
    apiVersion: `${group}/v1`,
    kind: kindOf(at),
    metadata: { name: 'x' },
    ...(given === undefined ? {} : { spec: given }),
    ...more,
  };
}

type Tried = readonly [name: string, spec: unknown];

/** Many small ones share a definition: it takes the real server a moment to serve one. */
function together(name: string, tried: readonly Tried[]): Case {
  return {
    name: `${name}: ${tried.map(([what]) => what).join(', ')}`,
    run: async at => {
      await define(at);
      for (const [, given] of tried) {
        await at.post(things(at), thing(at, given));
        await at.delete(things(at, 'x'), undefined, { compared: false });
      }
    },
  };
}

function broken(name: string, versions: readonly Schema[]): Case {
  return {
    name: `a definition: ${name}`,
    bare: true,
    run: async at => {
      const { status, body } = await at.post(definitionsPath, definition(at, versions), {
        compared: false,
      });
      const causes =
        (
          body['details'] as
            | { readonly causes?: readonly { readonly field: string; readonly reason: string }[] }
            | undefined
        )?.causes ?? [];
      // What a rule can cost, and what it is shown with, the real server says at length.
      at.note('refused', [
        status,
        body['reason'],
        causes.map(({ field, reason }) => [field, reason]),
      ]);
    },
  };
}

const string: Schema = { type: 'string', maxLength: 30 };
function list(items: Schema): Schema {
  return { type: 'array', maxItems: 5, items };
}

/**
 * Functions of CEL and of Kubernetes, each with values that keep its rule, break it, and make it
 * fail.
 */
const functions: readonly (readonly [
  name: string,
  key: string,
  type: Schema,
  rule: string,
  values: readonly unknown[],
])[] = [
  [
    'durations',
    'duration',
    string,
    "duration(self) > duration('1h')",
    ['90m', '60m', '1h0m0.5s', 'x'],
  ],
  [
    'timestamps',
    'time',
    string,
    "timestamp(self) - duration('24h') < timestamp('2026-01-01T00:00:00Z')",
    ['2026-01-01T12:00:00Z', '2027-01-01T12:00:00Z', 'x'],
  ],
  [
    'parts of timestamps',
    'month',
    string,
    "timestamp(self).getMonth() == 0 && timestamp(self).getHours('Asia/Kathmandu') == 5",
    ['2026-01-01T00:00:00Z', '2026-01-01T02:00:00Z'],
  ],
  [
    'semantic versions',
    'version',
    string,
    "semver(self).isLessThan(semver('1.35.0'))",
    ['1.34.9', '1.35.0-alpha.1', '1.35.0', '1.35', 'x'],
  ],
  [
    'quantities',
    'quantity',
    string,
    "quantity(self).isGreaterThan(quantity('1Gi')) && isQuantity(self)",
    ['2000Mi', '1073741824', '1e10', 'x'],
  ],
  [
    'regular expressions',
    'pattern',
    string,
    "self.matches('^(a|b+)+(?i:X)$')",
    ['abbax', 'abbaX', 'abc'],
  ],
  [
    'parts of strings',
    'parts',
    string,
    "self.split('-').size() == 2 && self.substring(3).upperAscii() == 'CD'",
    ['ab-cd', 'ab-cx', 'ab-'],
  ],
  [
    'formats',
    'format',
    { type: 'integer', minimum: 0, maximum: 300 },
    "'%d|%x'.format([self, self]) == '255|ff'",
    [255, 1],
  ],
  [
    'whole numbers',
    'whole',
    { type: 'integer' },
    'self / 2 == 2 && self % 2 == 1 && 10 / (self - 5) > 0',
    [5, 6],
  ],
  ['fractions', 'fraction', { type: 'number' }, 'self * 2.0 > 3.0', [1.75, 1, 2]],
  [
    'conversions',
    'conversion',
    string,
    'int(self) > 3 && double(self) < 10.0',
    ['5', '3', '12', 'x', '5.5'],
  ],
  [
    'sums',
    'sum',
    list({ type: 'integer' }),
    'self.isSorted() && self.sum() == 6 && self.max() == 3 && self.indexOf(2) == 1',
    [[1, 2, 3], [3, 2, 1], []],
  ],
  [
    'two variables',
    'two',
    list(string),
    'self.all(i, v, size(v) > i) && self.exists(i, v, i == 1)',
    [['a', 'bb'], ['a', 'b'], ['a']],
  ],
  [
    'maps',
    'map',
    { type: 'object', maxProperties: 5, additionalProperties: string },
    "self.all(k, v, k == v) && {'a': 1}['a'] == 1 && self[?'a'].orValue('a') == 'a'",
    [{ a: 'a' }, { b: 'c' }, {}],
  ],
];

function withRule(rule: string): readonly Schema[] {
  return [
    version({
      selectableFields: undefined,
      schema: {
        openAPIV3Schema: {
          type: 'object',
          properties: {
            spec: {
              type: 'object',
              properties: { a: { type: 'string' } },
              'x-kubernetes-validations': [{ rule }],
            },
          },
        },
      },
    }),
  ];
}

function shipped(file: string): Schema {
  return parse(
    readFileSync(join(import.meta.dirname, '..', '..', '..', 'deploy', file), 'utf8'),
  ) as Schema;
}

/** Custom resources. */
export const custom: readonly Case[] = [
  together('types', [
    ['no spec', undefined],
    ['nothing in it', {}],
    ['a text for a list', 'x'],
    ['a list for an object', []],
    ['a number for a text', { a: 5 }],
    ['a text for a number', { a: 'aa', n: 'x' }],
    ['a fraction for a whole number', { a: 'aa', n: 1.5 }],
    ['a text for a truth', { a: 'aa', b: 'yes' }],
    ['a number in a map of texts', { a: 'aa', m: { x: 1 } }],
    ['a truth for a number or text', { a: 'aa', is: true }],
    ['null', { a: null }],
  ]),
  together('bounds', [
    ['too short', { a: 'x' }],
    ['too long', { a: 'xxxxx' }],
    ['too small', { a: 'aa', n: 0 }],
    ['too large', { a: 'aa', n: 9 }],
    ['not in the list', { a: 'aa', e: 'Z' }],
    ['not of the pattern', { a: 'aa', p: 'b' }],
    ['no time', { a: 'aa', t: 'x' }],
    ['too few', { a: 'aa', l: [] }],
    ['too many', { a: 'aa', l: ['aa', 'bb', 'cc'] }],
    ['an element without its key', { a: 'aa', k: [{}] }],
    ['twice the same key', { a: 'aa', k: [{ id: 'one' }, { id: 'one' }] }],
  ]),
  together('rules', [
    ['a rule with a message', { a: 'aa', n: 4 }],
    ['a rule without', { a: 'aa', l: ['a'] }],
    ['a rule that holds', { a: 'aa', l: ['z', 'aa'] }],
    ['a message that is computed', { a: 'aa', e: 'Y' }],
    ['a choice', { a: 'aa', e: 'Y', b: false }],
    ['a rule with reason and field', { a: 'aa', k: [{ id: 'three' }] }],
  ]),
  together('defaults and pruning', [
    ['defaults', { a: 'aa' }],
    ['null for a default', { a: 'aa', e: null, nullable: null }],
    [
      'unknown fields',
      { a: 'aa', unknown: 1, deep: { y: 2 }, any: { z: { w: 1 } }, k: [{ id: 'one', q: 1 }] },
    ],
    ['a whole number as a number', { a: 'aa', is: 5, k: [{ id: 'one', v: 1.5 }] }],
  ]),
  {
    name: 'a definition as it stands there, its discovery, and its end',
    run: async at => {
      await define(at);
      await at.get(`${definitionsPath}/${pluralOf(at)}.${group}`);
      const { body } = await at.get(`/apis/${group}/v1`, { compared: false });
      const resources = body['resources'] as readonly Readonly<Record<string, unknown>>[];
      at.note(
        'discovery',
        resources
          .filter(({ name }) => String(name).startsWith(pluralOf(at)))
          .map(({ storageVersionHash: _hash, ...rest }) => rest),
      );
      await at.post(things(at), thing(at, { a: 'aa' }));
      await at.delete(`${definitionsPath}/${pluralOf(at)}.${group}`);
      for (let tries = 0; tries < 100; tries += 1) {
        if (
          (await at.get(`${definitionsPath}/${pluralOf(at)}.${group}`, { compared: false }))
            .status === 404
        )
          break;
        await sleep(50);
      }
      await at.get(`${definitionsPath}/${pluralOf(at)}.${group}`);
    },
  },
  {
    name: 'the status is written through its own path only',
    run: async at => {
      await define(at);
      await at.post(things(at), thing(at, { a: 'aa' }, { status: { s: 1 } }));
      await at.patch(things(at, 'x'), 'merge', { status: { s: 2 } });
      await at.patch(things(at, 'x', 'status'), 'merge', {
        status: { s: 3 },
        spec: { n: 3 },
        metadata: { labels: { a: 'b' } },
      });
      await at.patch(things(at, 'x'), 'merge', {
        spec: { n: 2 },
        metadata: { labels: { a: 'b' } },
      });
      await at.get(things(at, 'x', 'status'));
    },
  },
  {
    name: `rules with functions: ${functions.map(([name]) => name).join(', ')}`,
    run: async at => {
      const properties: Record<string, Schema> = Object.fromEntries(
        functions.map(([, key, type, rule]) => [
          key,
          { ...type, 'x-kubernetes-validations': [{ rule, messageExpression: "'broken'" }] },
        ]),
      );
      const since = {
        rule: "oldSelf.hasValue() ? oldSelf.value() != 'two' : self == 'one'",
        optionalOldSelf: true,
      };
      properties['changed'] = { ...string, 'x-kubernetes-validations': [since] };
      await define(
        at,
        definition(at, [
          version({
            additionalPrinterColumns: undefined,
            selectableFields: undefined,
            schema: {
              openAPIV3Schema: {
                type: 'object',
                properties: { spec: { type: 'object', properties } },
              },
            },
          }),
        ]),
      );
      for (const [, key, , , values] of functions) {
        for (const value of values) {
          await at.post(things(at), thing(at, { [key]: value }));
          await at.delete(things(at, 'x'), undefined, { compared: false });
        }
      }
      await at.post(things(at), thing(at, { changed: 'three' }));
      await at.post(things(at), thing(at, { changed: 'one' }));
      await at.patch(things(at, 'x'), 'merge', { spec: { changed: 'two' } });
      await at.patch(things(at, 'x'), 'merge', { spec: { changed: 'one' } });
    },
  },
  {
    name: 'rules about changes',
    run: async at => {
      await define(at);
      await at.has(things(at), thing(at, { a: 'aa' }));
      await at.patch(things(at, 'x'), 'merge', { spec: { a: 'bb' } });
      await at.patch(things(at, 'x'), 'merge', { spec: { a: 'aa', n: 2 } });
      await at.patch(things(at, 'x'), 'json', [{ op: 'remove', path: '/spec/a' }]);
    },
  },
  {
    name: 'replaced without a version',
    run: async at => {
      await define(at);
      await at.has(things(at), thing(at, { a: 'aa' }));
      await at.put(things(at, 'x'), thing(at, { a: 'aa', n: 2 }));
    },
  },
  {
    name: 'strategic merge patches are not for custom resources',
    run: async at => {
      await define(at);
      await at.has(things(at), thing(at, { a: 'aa' }));
      await at.patch(things(at, 'x'), 'strategic-merge', { spec: { n: 2 } });
    },
  },
  {
    name: 'lists, tables and selectable fields',
    run: async at => {
      await define(at);
      await at.has(things(at), thing(at, { a: 'aa', n: 3 }));
      await at.has(
        things(at),
        thing(at, { a: 'bb' }, { metadata: { name: 'y', labels: { l: 'm' } } }),
      );
      await at.patch(
        things(at, 'y', 'status'),
        'merge',
        { status: { conditions: [{ type: 'Yes', status: 'True' }] } },
        { compared: false },
      );
      await at.get(things(at));
      await at.get(`${things(at)}?fieldSelector=spec.a%3Daa`);
      await at.get(`${things(at)}?fieldSelector=spec.n%3D3`);
      await at.get(`${things(at)}?fieldSelector=spec.n!%3D3`);
      await at.get(`${things(at)}?fieldSelector=spec.b%3Dx`);
      await at.get(things(at), { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' });
      await at.get(`${things(at)}?labelSelector=l`, {
        accept: 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1',
      });
    },
  },
  {
    name: 'a watch',
    run: async at => {
      await define(at);
      const { body } = await at.get(things(at), { compared: false });
      await at.watch(
        `${things(at)}?watch=1&resourceVersion=${body.metadata?.resourceVersion ?? ''}`,
        async () => {
          await at.has(things(at), thing(at, { a: 'aa' }));
          await at.patch(things(at, 'x'), 'merge', { spec: { n: 1 } }, { compared: false });
          await at.delete(things(at, 'x'), undefined, { compared: false });
        },
      );
    },
  },
  {
    name: 'a body without its kind',
    run: async at => {
      await define(at);
      const { status, body } = await at.post(
        things(at),
        { metadata: { name: 'x' }, spec: { a: 'aa' } },
        { compared: false },
      );
      at.note('refused', [status, body['reason'], String(body['message']).split("'")[0]]);
      const other = await at.post(
        things(at),
        { apiVersion: `${group}/v2`, kind: kindOf(at), metadata: { name: 'x' }, spec: { a: 'aa' } },
        { compared: false },
      );
      at.note('another version', [other.status, other.body]);
    },
  },
  {
    name: 'several versions without conversion',
    run: async at => {
      await define(at, definition(at, [version(), version({ name: 'v2', storage: false })]));
      const second = (...rest: readonly string[]): string =>
        at.path(`${group}/v2/${pluralOf(at)}`, ...rest);
      await served(at, second());
      await at.post(things(at), thing(at, { a: 'aa' }));
      await at.get(second('x'));
      await at.patch(second('x'), 'merge', { spec: { n: 2 } });
      await at.get(things(at));
    },
  },
  broken('without a schema', [version({ schema: undefined, selectableFields: undefined })]),
  broken('without a stored version', [version({ storage: false })]),
  broken('a rule about a field that is not there', withRule('self.nothing == 1')),
  broken('a rule with a function that nobody knows', withRule('self.a.dance()')),
  broken('a rule that is no expression', withRule('self.a ==')),
  broken('a rule about nobody', withRule('other.a == 1')),
  ...[
    'crds/maintenances.drydock.dev.yaml',
    'crds/nodemaintenances.nodemaintenance.medik8s.io.yaml',
    'legacy/kubevirt.io/nodemaintenances.kubevirt.io.yaml',
    'legacy/nodemaintenance.kubevirt.io/nodemaintenances.nodemaintenance.kubevirt.io.yaml',
  ].map(
    (file): Case => ({
      name: `what Drydock ships: ${file}`,
      bare: true,
      run: async at => {
        const given = shipped(file);
        const { group, names, versions } = (
          given as {
            readonly spec: {
              readonly group: string;
              readonly names: { readonly plural: string; readonly kind: string };
              readonly versions: readonly { readonly name: string }[];
            };
          }
        ).spec;
        await at.post(definitionsPath, given, { compared: false });
        for (const { name } of versions) {
          const path = `/apis/${group}/${name}/${names.plural}`;
          await served(at, path);
          const object = {
            apiVersion: `${group}/${name}`,
            kind: names.kind,
            metadata: { name: at.name(name) },
          };
          await at.post(path, { ...object, spec: { nodeName: 'n1', reason: 'r', unknown: 1 } });
          await at.patch(`${path}/${at.name(name)}`, 'merge', { spec: { nodeName: 'n2' } });
          await at.patch(`${path}/${at.name(name)}/status`, 'merge', {
            status: { phase: 'Drained', lastError: 'x' },
          });
          // Other cases may have objects of this kind at the same time.
          const mine = `${path}?fieldSelector=metadata.name%3D${at.name(name)}`;
          await at.get(mine, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' });
          await at.post(path, { ...object, metadata: { name: 'none' } });
          await at.delete(`${path}/${at.name(name)}`);
        }
      },
    }),
  ),
  {
    name: 'an object is deleted as it was seen, and not once it has changed',
    run: async at => {
      await define(at);
      const versionIn = ({ body }: { readonly body: Schema }): unknown =>
        (body['metadata'] as Schema)['resourceVersion'];
      const seen = versionIn(await at.post(things(at), thing(at, {})));
      const changed = versionIn(
        await at.patch(things(at, 'x'), 'merge', { metadata: { labels: { a: 'b' } } }),
      );
      for (const resourceVersion of [seen, changed]) {
        await at.delete(things(at, 'x'), { preconditions: { resourceVersion } });
        await at.get(things(at, 'x'));
      }
    },
  },
  {
    name: 'the rules of Maintenance',
    bare: true,
    run: async at => {
      await at.post(definitionsPath, shipped('crds/maintenances.drydock.dev.yaml'), {
        compared: false,
      });
      const path = '/apis/drydock.dev/v1alpha1/maintenances';
      await served(at, path);
      const tried = async (drain: unknown): Promise<void> => {
        await at.post(path, {
          apiVersion: 'drydock.dev/v1alpha1',
          kind: 'Maintenance',
          metadata: { name: at.id },
          spec: { nodeName: 'n1', drain },
        });
        await at.delete(`${path}/${at.id}`, undefined, { compared: false });
      };
      await tried({});
      await tried({ timeoutSeconds: 5, ladder: [{ afterSeconds: 10, action: 'Fail' }] });
      await tried({
        ladder: [{ afterSeconds: 10, action: 'Fail', gracePeriodSeconds: 3, unknown: 1 }],
      });
      await tried({ ladder: [{ afterSeconds: 10, action: 'Delete', gracePeriodSeconds: 3 }] });
      await tried({ gracePeriodSeconds: -2 });
      await tried({
        waves: [{ podSelector: { matchExpressions: [{ key: 'a', operator: 'Is' }] } }],
      });
    },
  },
];
