import type { JsonObject } from '@drydock/apimachinery';
import type { Failure, Success } from '../failure.ts';

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
