import { isObject } from '@drydock/apimachinery';
import { badRequest, type Failure, unsupportedMediaType } from '../failure.ts';
import { apiVersionOf, type Kind } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';
import type { Draft } from '../object.ts';
import { typeOfKind } from '../protobuf/numbers.ts';
import { type Envelope, openEnvelope, readMessage, summarized } from '../protobuf/read.ts';
import { type ApiRequest, type Body, routeOf } from './message.ts';

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

export type ParsedBody =
  | { readonly kind: 'given'; readonly draft: Draft }
  | { readonly kind: 'refused'; readonly failure: Failure };

function refuse(failure: Failure): ParsedBody {
  return { kind: 'refused', failure };
}

type Name = Pick<Kind, 'group' | 'version' | 'kind'>;

const texts = ['application/json', 'application/yaml'];

/**
 * Returns the accepted media types: custom resources have no protobuf, and definitions are not read
 * from it here.
 */
function acceptedFor(kind: Name): readonly string[] {
  return typeOfKind(apiVersionOf(kind), kind.kind) === undefined ? texts : [...texts, protobufType];
}

/**
 * Returns the error for protobuf that cannot be decoded; apiserver/pkg/endpoints/handlers:
 * transformDecodeError.
 */
function undecoded(
  { of, why, shown }: Extract<ApiRequest['body'], { readonly kind: 'undecoded' }>,
  wanted: string,
): string {
  return of === undefined
    ? `the object provided is unrecognized (must be of type ${wanted}): ${why} (${shown})`
    : `${of.kind} in version "${of.apiVersion.split('/').at(-1) ?? ''}" cannot be handled as a ${wanted}: ${why}`;
}

function mediaType(contentType: string): string {
  return contentType.split(';')[0]?.trim() ?? '';
}

/**
 * Returns the object in the body of a create or update. Without a kind of its own, it has the
 * path's.
 */
export function draftIn(request: ApiRequest, kind: Name, kinds: KindTable): ParsedBody {
  const { body } = request;
  const type = mediaType(request.contentType);
  const accepted = acceptedFor(kind);
  if (type !== '' && !accepted.includes(type)) {
    return refuse(
      unsupportedMediaType(
        `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
      ),
    );
  }
  if (body.kind === 'undecoded') return refuse(badRequest(undecoded(body, kind.kind)));
  if (body.kind !== 'json') {
    const why = body.kind === 'unreadable' ? body.why : 'unexpected end of JSON input';
    const text = body.kind === 'unreadable' ? body.text : '<empty>';
    return refuse(
      badRequest(
        `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind; json parse error: ${why} (${text})`,
      ),
    );
  }
  if (!isObject(body.value)) {
    return refuse(
      badRequest(
        `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind; json parse error`,
      ),
    );
  }
  const { apiVersion, kind: own } = body.value;
  if (
    'shape' in kind &&
    (kind as Kind).shape.kind === 'schema' &&
    (!isWord(apiVersion) || !isWord(own))
  ) {
    const shown = JSON.stringify(body.value);
    const missing = isWord(own) ? 'apiVersion' : 'Kind';
    return refuse(
      badRequest(
        `the object provided is unrecognized (must be of type ${kind.kind}): Object '${missing}' is missing in '${shown}' (${shown.slice(0, 32)}...)`,
      ),
    );
  }
  return typed(body.value, kind, kinds);
}

function isWord(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function typed(draft: Draft, kind: Name, kinds: KindTable): ParsedBody {
  const wanted = apiVersionOf(kind);
  const version =
    typeof draft['apiVersion'] === 'string' && draft['apiVersion'] !== ''
      ? draft['apiVersion']
      : wanted;
  const own = typeof draft['kind'] === 'string' && draft['kind'] !== '' ? draft['kind'] : kind.kind;
  const problem = mismatch(version, own, kind, kinds);
  if (problem === ofOtherVersion(version, kind)) return refuse(badRequest(problem));
  return problem === undefined
    ? { kind: 'given', draft }
    : refuse(
        badRequest(
          `${own} in version "${version.split('/').at(-1) ?? ''}" cannot be handled as a ${kind.kind}: ${problem}`,
        ),
      );
}

/**
 * Kinds that the API server knows and that are not in the table, because they are served as
 * subresources only.
 */
const others = new Set([
  'policy/v1/Eviction',
  'policy/v1beta1/Eviction',
  'v1/Binding',
  'autoscaling/v1/Scale',
]);

function ofOtherVersion(version: string, kind: Name): string {
  return `the API version in the data (${version}) does not match the expected API version (${apiVersionOf(kind)})`;
}

/** Returns why an object of this kind and version is not of the wanted kind. */
export function mismatch(
  version: string,
  own: string,
  kind: Name,
  kinds: KindTable,
): string | undefined {
  const [group, name] = version.includes('/')
    ? [version.split('/')[0] ?? '', version.split('/')[1] ?? '']
    : ['', version];
  if (
    kinds.named(kind.group, kind.kind)?.shape.kind === 'schema' &&
    own === kind.kind &&
    version !== apiVersionOf(kind)
  ) {
    return ofOtherVersion(version, kind);
  }
  if (
    own === kind.kind &&
    group === kind.group &&
    (name === kind.version || others.has(`${version}/${own}`))
  )
    return undefined;
  if (kinds.named(group, own, name) === undefined && !others.has(`${version}/${own}`)) {
    return `no kind "${own}" is registered for version "${version}" in scheme "pkg/runtime/scheme.go:111"`;
  }
  return `converting (${name}.${own}) to (${kind.group === '' ? 'core' : kind.group}.${kind.kind}): unknown conversion`;
}
