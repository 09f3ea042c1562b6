import { apiVersionOf } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';
import { type Envelope, openEnvelope, summarized } from '../protobuf/envelope.ts';
import { typeOfKind } from '../protobuf/numbers.ts';
import { readMessage } from '../protobuf/read.ts';
import type { ApiRequest, Body } from './message.ts';
import { routeOf } from './route.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

/** Returns the envelope; without a kind of its own, it has the path's. */
function named({ apiVersion, kind, raw }: Envelope, path: string, kinds: KindTable): Envelope {
  if (apiVersion !== '' && kind !== '') return { apiVersion, kind, raw };
  const route = routeOf(path, kinds);
  if (route.kind !== 'collection' && route.kind !== 'object') return { apiVersion, kind, raw };
  return { apiVersion: apiVersion || apiVersionOf(route.of), kind: kind || route.of.kind, raw };
}

function read(bytes: Uint8Array, path: string, kinds: KindTable): Body {
  const opened = openEnvelope(bytes);
  if (opened.kind === 'broken')
    return { kind: 'undecoded', why: opened.why, shown: summarized(bytes) };
  const { apiVersion, kind, raw } = named(opened.envelope, path, kinds);
  const type = typeOfKind(apiVersion, kind);
  // The handler reports an unknown kind, or one that exists as JSON only.
  if (type === undefined) return { kind: 'json', value: { apiVersion, kind } };
  const message = readMessage(raw, type);
  return message.kind === 'read'
    ? { kind: 'json', value: { ...message.object, apiVersion, kind } }
    : { kind: 'undecoded', why: message.why, shown: '', of: { apiVersion, kind } };
}

/** Returns the request with an object instead of its protobuf. */
export function withObject(request: ApiRequest, kinds: KindTable): ApiRequest {
  const { body, path } = request;
  return body.kind === 'protobuf' ? { ...request, body: read(body.bytes, path, kinds) } : request;
}
