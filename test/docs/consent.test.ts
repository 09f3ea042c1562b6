import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { isObject, type Json, type JsonObject } from '@drydock/apimachinery';
import { isFreeField, type Right, rightsFor } from '@drydock/apis/admission-rules';
import { authorizer, type Bindings, evaluate, Lazy, parse } from '@drydock/cel';
import { manifestsOf } from '@drydock/cli/install';
import { parseAllDocuments } from 'yaml';

/**
 * What is agreed to is agreed to as a whole: every kind that can say something destructive, with
 * every field of its CRD. The webhook's function and the shipped policies are asked the same, so
 * that neither is more lenient than the other.
 */

const root = join(import.meta.dirname, '..', '..');

type Crd = {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly {
      readonly schema: {
        readonly openAPIV3Schema: { readonly properties: { readonly spec: Schema } };
      };
    }[];
  };
};

type Schema = {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly type?: string;
  readonly items?: Schema;
};

const crds = readdirSync(join(root, 'deploy', 'crds'))
  .filter(file => file.endsWith('.yaml'))
  .flatMap(file =>
    parseAllDocuments(readFileSync(join(root, 'deploy', 'crds', file), 'utf8')).map(
      document => document.toJS() as Crd,
    ),
  );

/** `path`: names, `[]` for what is in a list. */
type Field = { readonly path: readonly string[]; readonly type: string };

/** Every field below the spec of a kind, also below lists. */
function fieldsOf(schema: Schema, prefix: readonly string[] = []): readonly Field[] {
  return Object.entries((schema.items ?? schema).properties ?? {}).flatMap(([name, inner]) => {
    const path = [...prefix, name];
    const inside = inner.items === undefined ? path : [...path, '[]'];
    return [
      { path, type: inner.type ?? 'string' },
      ...(path.length < 6 ? fieldsOf(inner, inside) : []),
    ];
  });
}

/** What the items of lists always have. */
const added = { action: 'KeepTrying', kind: 'reboot', name: 'other' };

function other(value: Json | undefined, type: string): Json {
  if (type === 'array') return [...(Array.isArray(value) ? (value as readonly Json[]) : []), added];
  if (type === 'boolean') return value !== true;
  if (type === 'integer') return Number(value ?? 0) + 1;
  return type === 'object' ? { ...(isObject(value) ? value : {}), other: 'x' } : 'other';
}

/** The same object with another value there. */
function changed(value: Json | undefined, [key, ...rest]: readonly string[], type: string): Json {
  if (key === undefined) return other(value, type);
  if (key === '[]') {
    const [first = added, ...others] = Array.isArray(value) ? (value as readonly Json[]) : [];
    return [changed(first, rest, type), ...others];
  }
  const object = isObject(value) ? value : {};
  return { ...object, [key]: changed(object[key], rest, type) };
}

const drainWords: readonly (readonly [Right, JsonObject])[] = [
  ['delete-pods', { disableEviction: true }],
  [
    'delete-pods',
    {
      ladder: [
        { afterSeconds: 5, action: 'KeepTrying' },
        { afterSeconds: 60, action: 'Delete' },
      ],
    },
  ],
  ['shut-down-vms', { virtualMachines: { notMigratable: 'ShutDown' } }],
];

const hasty = { annotations: { 'drydock.dev/release-during-work': 'true' } };
const waiver = { annotations: { 'drydock.dev/allow-quorum-loss': 'true' } };

type Word = { readonly right: Right; readonly metadata: JsonObject; readonly spec: JsonObject };

function ofDrain(place: (drain: JsonObject) => JsonObject): readonly Word[] {
  return drainWords.map(([right, drain]) => ({ right, metadata: {}, spec: place(drain) }));
}

/** Every destructive word, by the resource that can say it. */
const words: Readonly<Record<string, readonly Word[]>> = {
  maintenances: [
    ...ofDrain(drain => ({ drain })),
    { right: 'waive-quorum', metadata: waiver, spec: {} },
    { right: 'release-during-work', metadata: hasty, spec: {} },
  ],
  nodemaintenances: [{ right: 'waive-quorum', metadata: waiver, spec: {} }],
  machinemaintenances: [
    ...ofDrain(drain => ({ drain })),
    {
      right: 'declare-urgent',
      metadata: {},
      spec: { events: [{ kind: 'reboot' }, { kind: 'termination' }] },
    },
  ],
  machineeventsources: ofDrain(drain => ({ drain })),
  maintenanceplans: ofDrain(drain => ({ template: { maintenance: { drain } } })),
};

const isOfConsent =
  /^drydock-(waive-quorum|release-during-work|delete-pods|shut-down-vms|declare-urgent)/;

const policies = manifestsOf('admission-policies').filter(
  ({ kind }) => kind === 'ValidatingAdmissionPolicy',
);

type Policy = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly matchConstraints: {
      readonly resourceRules: readonly {
        readonly apiGroups: readonly string[];
        readonly resources: readonly string[];
      }[];
    };
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly { readonly expression: string }[];
  };
};

type Expression = Parameters<typeof evaluate>[0];

const parsed = new Map<string, Expression>();

function expressionOf(text: string): Expression {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const result = parse(text);
  assert.ok(result.kind !== 'wrong', text);
  parsed.set(text, result.expression);
  return result.expression;
}

/** The rights that the shipped policies ask for, of an author who has none. */
function rightsByPolicy(
  group: string,
  resource: string,
  object: JsonObject,
  before: JsonObject | undefined,
): readonly string[] {
  const asked: string[] = [];
  const plain: Bindings = {
    object,
    oldObject: before ?? null,
    request: {
      operation: before === undefined ? 'CREATE' : 'UPDATE',
      namespace: '',
      resource: { group, version: 'v1', resource },
    },
    [authorizer]: ({ check = '' }) => {
      asked.push(check);
      return false;
    },
  };
  for (const { metadata, spec } of policies as unknown as readonly Policy[]) {
    if (!isOfConsent.test(metadata.name)) continue;
    if (
      !spec.matchConstraints.resourceRules.some(
        ({ apiGroups, resources }) => apiGroups.includes(group) && resources.includes(resource),
      )
    )
      continue;
    const variables = new Lazy(
      new Map(
        (spec.variables ?? []).map(({ name, expression }) => [name, expressionOf(expression)]),
      ),
    );
    for (const { expression } of spec.validations) {
      const result = evaluate(expressionOf(expression), { ...plain, variables });
      assert.equal(result.kind, 'value', `${metadata.name}: ${JSON.stringify(result)}`);
    }
  }
  return [...new Set(asked)].toSorted();
}

function byWebhook(
  resource: string,
  object: JsonObject,
  before: JsonObject | undefined,
): readonly string[] {
  return [...new Set(rightsFor(resource, object, before))].toSorted();
}

/**
 * The policies and, for the resources that it is asked about, the webhook; that of plans asks for
 * none of these.
 */
function rights(
  group: string,
  resource: string,
  object: JsonObject,
  before: JsonObject | undefined,
): readonly string[] {
  const found = rightsByPolicy(group, resource, object, before);
  assert.deepEqual(
    byWebhook(resource, object, before),
    found,
    'the webhook and the policies agree',
  );
  return found;
}

for (const { spec } of crds.filter(crd => words[crd.spec.names.plural] !== undefined)) {
  const { group } = spec;
  const { plural } = spec.names;
  const fields = fieldsOf(spec.versions[0]?.schema.openAPIV3Schema.properties.spec ?? {});
  describe(`${plural}.${group}`, () => {
    for (const { right, metadata, spec: said } of words[plural] ?? []) {
      const before: JsonObject = {
        metadata: { name: 'one', ...metadata },
        spec: { nodeName: 'w', ...said },
      };
      test(`${right}: ${JSON.stringify({ ...said, ...metadata })}, with each of ${fields.length} fields changed`, () => {
        assert.ok(fields.length > 0);
        assert.deepEqual(rights(group, plural, before, undefined), [right], 'when it is made');
        assert.deepEqual(
          rights(group, plural, { ...before, status: { phase: 'x' } }, before),
          [],
          'a status is no change',
        );
        const labelled = {
          ...before,
          metadata: { ...(before['metadata'] as JsonObject), labels: { team: 'a' } },
        };
        assert.deepEqual(rights(group, plural, labelled, before), [], 'nor are labels');
        for (const { path, type } of fields) {
          const after = changed(before, ['spec', ...path], type) as JsonObject;
          const asked = rights(group, plural, after, before);
          const isSaid = rights(group, plural, after, undefined).includes(right);
          assert.equal(
            asked.includes(right),
            isSaid && !isFreeField(plural, path[0] ?? ''),
            path.join('.'),
          );
        }
        for (const field of Object.keys(said)) {
          const { [field]: _gone, ...rest } = before['spec'] as JsonObject;
          assert.deepEqual(
            rights(group, plural, { ...before, spec: rest }, before),
            [],
            'taking it back takes no right',
          );
        }
        const { nodeName: _node, ...nodeless } = before['spec'] as JsonObject;
        assert.deepEqual(
          rights(group, plural, { ...before, spec: nodeless }, before),
          [right],
          'a field is taken away',
        );
      });
    }
  });
}

test('of a plan that deletes pods more nodes may be left out, and no node comes back, without the right', () => {
  const plan = (...names: readonly string[]): JsonObject => ({
    metadata: { name: 'p' },
    spec: {
      template: { maintenance: { drain: { disableEviction: true } } },
      ...(names.length > 0 && { skipNodes: names.map(name => ({ name })) }),
    },
  });
  const asked = (object: JsonObject, before: JsonObject): readonly string[] =>
    rights('drydock.dev', 'maintenanceplans', object, before);
  assert.deepEqual(asked(plan('a', 'b'), plan('a')), []);
  assert.deepEqual(asked(plan('a'), plan()), []);
  assert.deepEqual(asked(plan('b'), plan('a')), ['delete-pods']);
  assert.deepEqual(asked(plan(), plan('a')), ['delete-pods']);
});

test('every resource that a policy guards is in the table', () => {
  const guarded = (policies as unknown as readonly Policy[])
    .filter(({ metadata }) => isOfConsent.test(metadata.name))
    .flatMap(({ spec }) =>
      spec.matchConstraints.resourceRules.flatMap(({ resources }) => resources),
    );
  assert.deepEqual([...new Set(guarded)].toSorted(), Object.keys(words).toSorted());
  for (const resource of Object.keys(words))
    assert.ok(
      crds.some(({ spec }) => spec.names.plural === resource),
      resource,
    );
});
