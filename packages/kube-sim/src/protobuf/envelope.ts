import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** Upstream: apimachinery/pkg/runtime/serializer/protobuf; its messages are the contract. */

/** A runtime.Unknown: its type, and the object's own bytes. */
export type Envelope = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
};

export type Opened =
  | { readonly kind: 'opened'; readonly envelope: Envelope }
  | { readonly kind: 'broken'; readonly why: string };

const magic = Buffer.from('k8s\0');

function broken(why: string): Opened {
  return { kind: 'broken', why };
}

function decodeText(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8');
}

/** Returns the bytes fields of a message, the last of each number. */
function bytesFields(bytes: Uint8Array): ReadonlyMap<number, Uint8Array> {
  const reader = new BinaryReader(bytes);
  const found = new Map<number, Uint8Array>();
  while (reader.pos < reader.len) {
    const [number, wire] = reader.tag();
    if (wire === WireType.LengthDelimited) found.set(number, reader.bytes());
    else reader.skip(wire);
  }
  return found;
}

const none = new Uint8Array();

/** Opens the envelope in which Kubernetes' clients send protobuf. Never throws. */
export function openEnvelope(body: Uint8Array): Opened {
  if (body.length === 0) return broken('empty data');
  if (body.length < magic.length || !magic.equals(body.subarray(0, magic.length)))
    return broken(
      `provided data does not appear to be a protobuf message, expected prefix [${[...magic].join(' ')}]`,
    );
  if (body.length === magic.length) return broken('empty body');
  try {
    const fields = bytesFields(body.subarray(magic.length));
    const type = bytesFields(fields.get(1) ?? none);
    const envelope = {
      apiVersion: decodeText(type.get(1) ?? none),
      kind: decodeText(type.get(2) ?? none),
      raw: fields.get(2) ?? none,
    };
    return { kind: 'opened', envelope };
  } catch {
    return broken('unexpected EOF');
  }
}

const maxLength = 30;

/** Returns the part of an invalid body that errors quote: summarizeData. */
export function summarized(body: Uint8Array): string {
  if (body.length === 0) return '<empty>';
  const start = Buffer.from(body.subarray(0, maxLength));
  return `${body[0] === 0x7b ? start.toString('utf8') : start.toString('hex')}${body.length > maxLength ? ' ...' : ''}`;
}
