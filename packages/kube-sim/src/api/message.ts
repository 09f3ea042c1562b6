import type { JsonObject } from '@drydock/apimachinery';
import type { Failure, Success } from '../failure.ts';
import type { Kind } from '../kinds/kind.ts';
import type { KindTable } from '../kinds/kind-table.ts';

/** A request over HTTP, or from a client in the same process. */
export type ApiRequest = {
  readonly method: string;
  /** Path without the query. */
  readonly path: string;
  readonly query: ReadonlyMap<string, string>;
  readonly accept: string;
  readonly contentType: string;
  /** User agent, which names the field manager when the query does not. */
  readonly userAgent: string;
  readonly body: Body;
};

export type Body =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  /** Undecoded protobuf; `withObject` decodes it. */
  | { readonly kind: 'protobuf'; readonly bytes: Uint8Array }
  /**
   * Invalid protobuf, or of another kind than it claims: Go's message, and the text that Go quotes.
   */
  | {
      readonly kind: 'undecoded';
      readonly why: string;
      readonly shown: string;
      readonly of?: { readonly apiVersion: string; readonly kind: string };
    }
  /** Invalid JSON (or YAML): the parser's message and the text. */
  | { readonly kind: 'unreadable'; readonly why: string; readonly text: string };

type ResponseHeaders = Readonly<Record<string, string>>;

export type Response =
  | {
      readonly kind: 'object';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly body: JsonObject | Failure | Success;
    }
  | {
      readonly kind: 'text';
      readonly status: number;
      readonly headers: ResponseHeaders;
      readonly body: string;
    }
  /** A watch of a collection. `open` starts the delivery; it may deliver at once. */
  | { readonly kind: 'watch'; readonly open: (hears: WatchEar) => Watching };

export type WatchEvent = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: JsonObject | Failure;
};

interface WatchEar {
  event(event: WatchEvent): void;
  /** Called when the server has ended the watch. */
  ended(): void;
}

type Watching = { close(): void };

export function answer(
  body: JsonObject | Success,
  status = 200,
  warnings: readonly string[] = [],
): Response {
  return {
    kind: 'object',
    status,
    headers: warningHeaders(warnings),
    body,
  };
}

/** Returns the response with more warnings. */
export function withWarnings(response: Response, warnings: readonly string[]): Response {
  if (response.kind === 'watch' || warnings.length === 0) return response;
  const all = [response.headers['warning'], warningHeaders(warnings)['warning']].filter(
    text => text !== undefined,
  );
  return { ...response, headers: { ...response.headers, warning: all.join(', ') } };
}

export function failed(failure: Failure, warnings: readonly string[] = []): Response {
  const retry = failure.details?.retryAfterSeconds;
  return {
    kind: 'object',
    status: failure.code,
    headers: {
      ...warningHeaders(warnings),
      ...(retry === undefined ? {} : { 'retry-after': String(retry) }),
    },
    body: failure,
  };
}

export function plain(status: number, body: string): Response {
  return {
    kind: 'text',
    status,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
    body,
  };
}

/** Returns RFC 7234 warnings, as apiserver/pkg/warning sends them. */
function warningHeaders(warnings: readonly string[]): ResponseHeaders {
  return warnings.length === 0
    ? {}
    : { warning: warnings.map(text => `299 - ${JSON.stringify(text)}`).join(', ') };
}

/** Target of a path. */
export type Route =
  | { readonly kind: 'collection'; readonly of: Kind; readonly namespace: string | undefined }
  | {
      readonly kind: 'object';
      readonly of: Kind;
      readonly namespace: string;
      readonly name: string;
      /** Subresource: `status`, `scale`, `eviction`, …; empty for the object itself. */
      readonly subresource: string;
    }
  /** Discovery, version, health and documents: every non-resource path. */
  | { readonly kind: 'other'; readonly path: string }
  /** A served group and version without a resource of this name. */
  | { readonly kind: 'nothing' };

/** One object, or a subresource of it. */
export type Target = Extract<Route, { readonly kind: 'object' }>;

function split(path: string): readonly string[] {
  return path
    .split('/')
    .filter(part => part !== '')
    .map(decodeURIComponent);
}

type Parts = { readonly group: string; readonly version: string; readonly rest: readonly string[] };

function partsOf(parts: readonly string[]): Parts | undefined {
  const [root, first, second, ...rest] = parts;
  if (root === 'api' && first !== undefined && second !== undefined)
    return { group: '', version: first, rest: [second, ...rest] };
  const [resource, ...more] = rest;
  if (root !== 'apis' || first === undefined || second === undefined || resource === undefined)
    return undefined;
  return { group: first, version: second, rest: [resource, ...more] };
}

/** Finds the target of a path. Upstream: RequestInfoFactory of apiserver/pkg/endpoints/request. */
export function routeOf(path: string, kinds: KindTable): Route {
  const parts = partsOf(split(path));
  if (parts === undefined || !kinds.servesGroup(parts.group)) return { kind: 'other', path };
  const { group, version, rest } = parts;
  const [first = '', second, third, fourth, fifth] = rest;
  // `namespaces/NAME/THING`: a namespace has its own subresources, everything else is a resource in
  // it.
  if (
    first === 'namespaces' &&
    second !== undefined &&
    third !== undefined &&
    !namespaceParts.has(third)
  ) {
    const of = kinds.at(group, version, third);
    if (of === undefined || !of.namespaced) return { kind: 'nothing' };
    if (fourth === undefined) return { kind: 'collection', of, namespace: second };
    return { kind: 'object', of, namespace: second, name: fourth, subresource: fifth ?? '' };
  }
  const of = kinds.at(group, version, first);
  if (of === undefined) return { kind: 'nothing' };
  if (second === undefined) return { kind: 'collection', of, namespace: undefined };
  return of.namespaced
    ? { kind: 'nothing' }
    : { kind: 'object', of, namespace: '', name: second, subresource: third ?? '' };
}

const namespaceParts = new Set(['status', 'finalize']);
