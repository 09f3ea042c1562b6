import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tests } from '@bufbuild/cel-spec/testdata/conformance.js';
import { compute } from './evaluate/evaluate.ts';
import { CostExceeded, CostMeter, EvalError } from './failure.ts';
import { parse } from './parse/parse.ts';
import { durationText, readDuration, readTimestamp } from './values/times.ts';
import { Duration, EntryMapping, List, Mapping, Type, Uint, type Value } from './values/values.ts';

/**
 * The conformance tests of cel-spec (tests/simple/testdata), as `@bufbuild/cel-spec` packs them.
 * Every case of the files below runs.
 */

const files = [
  'basic',
  'comparisons',
  'conversions',
  'fields',
  'fp_math',
  'integer_math',
  'lists',
  'logic',
  'macros',
  'macros2',
  'namespace',
  'optionals',
  'parse',
  'plumbing',
  'string',
  'string_ext',
  'timestamps',
  'type_deductions',
];

/**
 * Files that do not run, and why. Another one that appears with a newer version has to be put into
 * one of the two lists.
 */
const left: Readonly<Record<string, string>> = {
  bindings_ext: 'cel.bind is not in Kubernetes',
  block_ext: 'cel.block is not in Kubernetes',
  encoders_ext: 'base64 is not in Kubernetes',
  math_ext: 'math is not in Kubernetes',
  dynamic: 'messages of protobuf: the API has JSON alone',
  enums: 'as above',
  proto2: 'as above',
  proto2_ext: 'as above',
  proto3: 'as above',
  wrappers: 'as above',
  unknowns: 'without cases',
};

/**
 * Cases that are known to fail. Names of variables have no dots here, and there is no container in
 * which a name could be looked for.
 */
const different: ReadonlySet<string> = new Set([
  'fields/qualified_identifier_resolution/qualified_ident',
  'fields/qualified_identifier_resolution/map_field_select',
  'fields/qualified_identifier_resolution/qualified_identifier_resolution_unchecked',
  'fields/qualified_identifier_resolution/ident_with_longest_prefix_check',
  'namespace/qualified/self_eval_qualified_lookup',
  'namespace/namespace/self_eval_container_lookup',
  'namespace/namespace/self_eval_container_lookup_unchecked',
]);

/** A value as protobuf writes it in JSON: one member, which names its type. */
type Written = {
  readonly int64Value?: string;
  readonly uint64Value?: string;
  readonly doubleValue?: number | string;
  readonly stringValue?: string;
  readonly bytesValue?: string;
  readonly boolValue?: boolean;
  readonly nullValue?: null;
  readonly typeValue?: string;
  readonly listValue?: { readonly values?: readonly Written[] };
  readonly mapValue?: {
    readonly entries?: readonly { readonly key: Written; readonly value: Written }[];
  };
  readonly objectValue?: { readonly '@type': string; readonly value: string };
};

type Case = {
  readonly name: string;
  readonly expr: string;
  readonly bindings?: Readonly<Record<string, { readonly value: Written }>>;
  readonly value?: Written;
  readonly typedResult?: { readonly result?: Written };
  readonly evalError?: unknown;
  readonly checkOnly?: boolean;
};

type Suite = {
  readonly name: string;
  readonly suites?: readonly Suite[];
  readonly tests?: readonly { readonly original: object }[];
};

function read(written: Written): Value {
  if (written.int64Value !== undefined) return BigInt(written.int64Value);
  if (written.uint64Value !== undefined) return new Uint(BigInt(written.uint64Value));
  if (written.doubleValue !== undefined) return Number(written.doubleValue);
  if (written.bytesValue !== undefined) return Uint8Array.fromBase64(written.bytesValue);
  if (written.typeValue !== undefined) return new Type(written.typeValue);
  if (written.listValue !== undefined) return List.of((written.listValue.values ?? []).map(read));
  if (written.objectValue !== undefined)
    return (written.objectValue['@type'].endsWith('.Duration') ? readDuration : readTimestamp)(
      written.objectValue.value,
    );
  if (written.mapValue === undefined) return written.stringValue ?? written.boolValue ?? null;
  const mapping = new EntryMapping();
  for (const { key, value } of written.mapValue.entries ?? [])
    assert.ok(mapping.add(read(key), read(value)));
  return mapping;
}

/**
 * A value in a form in which two of them are the same text if they have the same type and content:
 * 1 and 1.0 differ, NaN is NaN.
 */
function spelled(value: Value): string {
  if (value instanceof List) return `[${Array.from(value, spelled).join(', ')}]`;
  if (value instanceof Mapping) {
    const entries = Array.from(
      value.keys(),
      key => `${spelled(key)}: ${spelled(value.get(key) ?? null)}`,
    );
    return `{${entries.sort().join(', ')}}`;
  }
  if (value instanceof Uint) return `uint ${value.value}`;
  if (value instanceof Duration) return `duration ${durationText(value)}`;
  if (value instanceof Uint8Array) return `bytes ${value.toHex()}`;
  if (value instanceof Type) return `type ${value.name}`;
  if (value instanceof Temporal.Instant) return `timestamp ${value.toString()}`;
  return typeof value === 'object' && value !== null
    ? assert.fail('a value that no case has')
    : `${typeof value} ${value}`;
}

/** Values of protobuf and their types, apart from timestamps and durations. */
function isProtobuf(given: Case): boolean {
  return /TestAllTypes|NestedEnum|GlobalEnum|NullValue|google\.protobuf\.(?!Timestamp|Duration)/.test(
    JSON.stringify(given),
  );
}

function outcome({ expr, bindings = {} }: Case): string {
  const parsed = parse(expr);
  if (parsed.kind === 'wrong') return 'error';
  let locals: Parameters<typeof compute>[3];
  for (const [name, { value }] of Object.entries(bindings))
    locals = { name, value: read(value), outer: locals };
  try {
    return spelled(compute(parsed.expression, {}, new CostMeter(1_000_000), locals));
  } catch (error) {
    if (error instanceof EvalError || error instanceof CostExceeded) return 'error';
    throw error;
  }
}

function wanted({ value, typedResult, evalError }: Case): string {
  return evalError === undefined
    ? spelled(read(value ?? typedResult?.result ?? { boolValue: true }))
    : 'error';
}

function casesOf(
  { name, suites = [], tests: own = [] }: Suite,
  path: string,
): readonly (readonly [id: string, given: Case])[] {
  const here = path === '' ? name : `${path}/${name}`;
  return [
    ...own.map(({ original }) => [`${here}/${(original as Case).name}`, original as Case] as const),
    ...suites.flatMap(suite => casesOf(suite, here)),
  ];
}

const suites: readonly Suite[] = tests.suites ?? [];

for (const file of files) {
  test(`cel-spec: ${file}`, () => {
    const cases = suites.filter(({ name }) => name === file).flatMap(suite => casesOf(suite, ''));
    // What only a type checker that knows all types could answer is not asked.
    const run = cases.filter(([, given]) => given.checkOnly !== true && !isProtobuf(given));
    assert.notEqual(run.length, 0);
    const failed = run.filter(([, given]) => outcome(given) !== wanted(given)).map(([id]) => id);
    const known = [...different].filter(id => id.startsWith(`${file}/`));
    assert.deepEqual([...new Set(failed)].sort(), known.sort());
  });
}

test('every file of cel-spec runs or is left out with a reason', () =>
  assert.deepEqual(suites.map(({ name }) => name).sort(), [...files, ...Object.keys(left)].sort()));
