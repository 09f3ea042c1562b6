import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JsonObject } from '@drydock/apimachinery';
import fc from 'fast-check';
import { decode } from '../kinds/decode.ts';
import { type FieldType, structNamed } from '../kinds/types.ts';
import { protobufOf } from '../testing/write-protobuf.ts';
import texts from './numbers.json' with { type: 'json' };
import { numbersOf, typeOfKind } from './numbers.ts';
import { openEnvelope, readMessage } from './read.ts';

const kinds = Object.keys(texts.kinds).filter(
  name =>
    typeOfKind(name.slice(0, name.lastIndexOf('/')), name.slice(name.lastIndexOf('/') + 1)) !==
    undefined,
);
function splitKind(name: string): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly type: string;
} {
  const cut = name.lastIndexOf('/');
  const [apiVersion, kind] = [name.slice(0, cut), name.slice(cut + 1)];
  return { apiVersion, kind, type: typeOfKind(apiVersion, kind) ?? '' };
}

const word = fc.stringMatching(/^[a-zé€]{1,6}$/);
const scalars: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  string: fc.oneof(word, fc.constant('')),
  bool: fc.boolean(),
  int32: fc.integer(),
  int64: fc.maxSafeInteger(),
  bytes: fc.uint8Array({ maxLength: 5 }).map(bytes => Buffer.from(bytes).toString('base64')),
  time: fc
    .integer({ min: 0, max: 4_000_000_000 })
    .map(second => Temporal.Instant.fromEpochMilliseconds(second * 1000).toString()),
  microtime: fc
    .integer({ min: 0, max: 4_000_000_000 })
    .map(ms =>
      Temporal.Instant.fromEpochMilliseconds(ms).toString({ smallestUnit: 'microsecond' }),
    ),
  quantity: fc.constantFrom('1', '100m', '1Gi', '0'),
  intstr: fc.oneof(fc.integer(), fc.constant('25%')),
  any: fc.constantFrom<object[]>({ a: 1 }, {}, { b: ['x', null] }),
};

/** Kind and version of an object stand in the envelope, and of an object in another one nowhere. */
function hasNumber(type: string, key: string): boolean {
  return [...numbersOf(type).values()].some(found =>
    found.kind === 'field' ? found.key === key : hasNumber(found.type, key),
  );
}

/** Some fields of a type, down to a depth. */
function objectOf(type: string, depth: number): fc.Arbitrary<object> {
  const fields = [...structNamed(type).fields]
    .filter(([key]) => hasNumber(type, key))
    .filter(([, field]) => field.type.kind === 'scalar' || depth > 0);
  if (fields.length === 0) return fc.constant({});
  return fc
    .subarray(fields, { maxLength: Math.min(6, fields.length) })
    .chain(picked =>
      fc.record(
        Object.fromEntries(picked.map(([key, field]) => [key, valueOf(field.type, depth - 1)])),
      ),
    );
}

function valueOf(type: FieldType, depth: number): fc.Arbitrary<unknown> {
  if (type.kind === 'scalar') return scalars[type.name] ?? fc.constant(1);
  if (type.kind === 'list')
    return fc.array(valueOf(type.of, depth), { minLength: 1, maxLength: 3 });
  if (type.kind === 'map')
    return fc.dictionary(word, valueOf(type.of, depth), { minKeys: 1, maxKeys: 3 });
  return objectOf(type.name, depth);
}

function wrote(name: string, object: object): Uint8Array {
  const { apiVersion, kind } = splitKind(name);
  const body = protobufOf({ ...object, apiVersion, kind });
  assert.ok(body !== undefined, `${name} cannot be written: ${JSON.stringify(object)}`);
  const opened = openEnvelope(body);
  assert.ok(opened.kind === 'opened');
  assert.deepEqual([opened.envelope.apiVersion, opened.envelope.kind], [apiVersion, kind]);
  return opened.envelope.raw;
}

for (const name of kinds) {
  test(`law: ${name} says the same in protobuf as in JSON`, () => {
    const { type } = splitKind(name);
    fc.assert(
      fc.property(objectOf(type, 4), object => {
        const read = readMessage(wrote(name, object), type);
        assert.ok(read.kind === 'read', JSON.stringify(read));
        assert.deepEqual(decode(read.object, type), decode(object as JsonObject, type));
      }),
      { numRuns: 20 },
    );
  });
}

const types = kinds.map(name => splitKind(name).type);

test('law: no bytes make it throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(...types), (bytes, type) => {
      const read = readMessage(bytes, type);
      assert.ok(read.kind === 'read' || read.why.length < 200);
      const opened = openEnvelope(Buffer.concat([Buffer.from('k8s\0'), bytes]));
      assert.ok(['opened', 'broken'].includes(opened.kind));
    }),
    { numRuns: 5000 },
  );
});

test('law: an object with some bytes changed, or cut anywhere, makes nothing throw either', () => {
  const changed = fc.constantFrom(...kinds).chain(name =>
    objectOf(splitKind(name).type, 4).map(object => ({
      type: splitKind(name).type,
      bytes: wrote(name, object),
    })),
  );
  fc.assert(
    fc.property(
      changed,
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 4 }),
      fc.nat(),
      ({ type, bytes }, edits, cut) => {
        const odd = bytes.slice(0, bytes.length - (cut % 3 === 0 ? cut % (bytes.length + 1) : 0));
        for (const [at, value] of edits) if (odd.length > 0) odd[at % odd.length] = value;
        assert.ok(['read', 'malformed'].includes(readMessage(odd, type).kind));
      },
    ),
    { numRuns: 2000 },
  );
});

test('the largest of bodies, full of empty elements, is read in time', () => {
  // spec.containers of a pod, as many as three MiB have room for: each an empty message of two
  // bytes.
  const inner = Buffer.alloc(3 * 1024 * 1024 - 16);
  for (let at = 0; at + 1 < inner.length; at += 2) inner.set([0x12, 0x00], at);
  const head: number[] = [0x12];
  for (let left = inner.length; left > 0; left >>>= 7)
    head.push((left & 0x7f) | (left > 0x7f ? 0x80 : 0));
  const started = performance.now();
  const read = readMessage(Buffer.concat([Buffer.from(head), inner]), 'core.Pod');
  assert.equal(read.kind, 'read');
  assert.ok(performance.now() - started < 10_000);
});

test('a time that no clock shows is none', () => {
  // metadata.creationTimestamp.seconds: a year of six digits.
  const seconds = [0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01];
  const time = [0x42, seconds.length, ...seconds];
  const read = readMessage(Uint8Array.from([0x0a, time.length, ...time]), 'core.Pod');
  assert.deepEqual(read, { kind: 'malformed', why: 'a time out of range' });
});
