import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { protobufType } from '@drydock/kube-sim/api';
import { envelope, protobufOf } from '@drydock/kube-sim/testing';
import type { Case } from '../site.ts';
import { deletion } from './deletion.ts';
import { evictions } from './evictions.ts';
import { objects } from './objects.ts';
import { roles } from './roles.ts';
import { configMap } from './things.ts';

function again(cases: readonly Case[]): readonly Case[] {
  return cases.map(one => ({ ...one, name: `${one.name}, as protobuf`, protobuf: true }));
}

function bytes(...all: readonly number[]): Uint8Array {
  return Uint8Array.from(all);
}

/** metadata.name and one entry of data. */
function message(name: string): Uint8Array {
  const writer = new BinaryWriter();
  writer
    .tag(1, WireType.LengthDelimited)
    .fork()
    .tag(1, WireType.LengthDelimited)
    .string(name)
    .join();
  writer
    .tag(2, WireType.LengthDelimited)
    .fork()
    .tag(1, WireType.LengthDelimited)
    .string('a')
    .tag(2, WireType.LengthDelimited)
    .string('b')
    .join();
  return writer.finish();
}

function posts(name: string, body: Uint8Array, resource = 'configmaps'): Case {
  return {
    name,
    run: async at => {
      await at.post(at.path(resource), body, { type: protobufType });
    },
  };
}

const magic = Buffer.from('k8s\0');
function raw(...all: readonly number[]): Uint8Array {
  return envelope('v1', 'ConfigMap', bytes(...all));
}

/** Bodies in protobuf: those of the other chapters once more, and what is none. */
export const protobuf: readonly Case[] = [
  ...again([...objects, ...deletion, ...evictions, ...roles]),
  posts('a config map', envelope('v1', 'ConfigMap', message('x'))),
  posts('one that does not say what it is', envelope('', '', message('x'))),
  posts('one without a name', envelope('v1', 'ConfigMap', bytes())),
  posts('nothing in the envelope', Buffer.concat([magic])),
  posts('no envelope', Buffer.from('{"a":1}')),
  posts('no envelope, and longer than is shown', Buffer.from('x'.repeat(64))),
  posts('shorter than the beginning of an envelope', Buffer.from('k8')),
  posts('an envelope that is cut', Buffer.concat([magic, bytes(0xff, 0xff)])),
  posts('another kind', envelope('v1', 'Secret', message('x'))),
  posts('a kind that nobody knows', envelope('v1', 'Nope', message('x'))),
  posts('a version that nobody knows', envelope('v9', 'ConfigMap', message('x'))),
  posts('a message that is cut', raw(0x0a, 0x7f, 1)),
  posts('a number where a message should be', raw(0x08, 1)),
  posts('field number 0', raw(0x00, 0x01)),
  posts('the end of a group', raw(0x0c)),
  posts('a number without an end', raw(...Array.from({ length: 12 }, () => 0xff))),
  posts(
    'a field that nobody knows',
    envelope('v1', 'ConfigMap', Buffer.concat([message('x'), bytes(0xf8, 0x3f, 0x01)])),
  ),
  posts('a body that is too large', Buffer.concat([magic, Buffer.alloc(3 * 1024 * 1024)])),
  {
    name: 'a body of JSON that is too large',
    run: async at => {
      await at.post(at.path('configmaps'), ' '.repeat(3 * 1024 * 1024 + 1), {});
    },
  },
  {
    name: 'an update, and options of a deletion',
    run: async at => {
      const type = { type: protobufType };
      await at.post(at.path('configmaps'), envelope('v1', 'ConfigMap', message('x')), type);
      await at.put(at.path('configmaps', 'x'), protobufOf({ ...configMap('x', { c: 'd' }) }), type);
      await at.delete(at.path('configmaps', 'x'), Buffer.from('xx'), type);
      await at.delete(
        at.path('configmaps', 'x'),
        envelope('v1', 'DeleteOptions', bytes(0x0a, 0x7f, 1)),
        type,
      );
      await at.delete(
        at.path('configmaps', 'x'),
        protobufOf({ apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid: 'other' } }),
        type,
      );
      await at.delete(
        at.path('configmaps', 'x'),
        protobufOf({ apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Background' }),
        type,
      );
    },
  },
  {
    name: 'a patch is none',
    run: async at => {
      await at.ask('PATCH', at.path('configmaps', 'x'), {
        body: envelope('v1', 'ConfigMap', message('x')),
        type: protobufType,
      });
    },
  },
];
