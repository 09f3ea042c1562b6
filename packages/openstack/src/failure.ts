import { isObject, type Json } from '@drydock/apimachinery';
import type { HttpResponse } from '@drydock/utils';

/** Reason for a failed call. */
export type NovaFailure = {
  readonly kind: /** No response: the call may have taken effect all the same. */
    | 'unreachable'
    /** Keystone rejects the user, or Nova rejects Keystone's token. */
    | 'credentials'
    | 'forbidden'
    | 'missing'
    /** The current state does not allow the call. */
    | 'conflict'
    | 'refused'
    /** The server fails temporarily (429, 5xx). */
    | 'trouble'
    /**
     * The cloud is unsuitable: no compute endpoint, several regions, a Nova that is too old. The
     * configuration has to be corrected.
     */
    | 'unfit';
  /** The server's own message, where it had any. */
  readonly message: string;
  readonly status?: number;
};

/** Result of a call, or its failure. */
export type NovaResult<T> =
  | { readonly value: T; readonly failure?: undefined }
  | { readonly value?: undefined; readonly failure: NovaFailure };

export function failed(
  kind: NovaFailure['kind'],
  message: string,
  status?: number,
): { readonly failure: NovaFailure } {
  return {
    failure: { kind, message, ...(status !== undefined && { status }) },
  };
}

const kinds: Readonly<Record<number, NovaFailure['kind']>> = {
  401: 'credentials',
  403: 'forbidden',
  404: 'missing',
  408: 'trouble',
  409: 'conflict',
  429: 'trouble',
};

function wordsIn(body: Json | undefined): string | undefined {
  if (!isObject(body)) return undefined;
  // Nova: {"badRequest": {"message"}}; Keystone: {"error": {"message"}}; for microversions:
  // {"errors": [{"detail"}]}.
  const first = Array.isArray(body['errors']) ? body['errors'][0] : Object.values(body)[0];
  if (!isObject(first)) return undefined;
  const text = first['message'] ?? first['detail'] ?? first['title'];
  return typeof text === 'string' && text !== '' ? text : undefined;
}

/** Parses the body as JSON; returns undefined when it is invalid. */
export function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/** Returns the failure for an error response. */
export function failureOf({ status, text }: HttpResponse): NovaFailure {
  const message =
    wordsIn(jsonOf(text))?.replaceAll(/\s+/g, ' ').trim() ?? `the server answered ${status}`;
  return { kind: kinds[status] ?? (status >= 500 ? 'trouble' : 'refused'), message, status };
}

/** Returns the failure for a missing response. */
export function unreachable(error: unknown, url: string): NovaFailure {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  const what = [message === undefined || message === '' ? String(error) : message, code].filter(
    part => part !== undefined,
  );
  return {
    kind: 'unreachable',
    message: `${new URL(url).origin} does not answer: ${[...new Set(what)].join(', ')}`,
  };
}
