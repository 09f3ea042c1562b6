import { isObject, type Json } from '../core/json.ts';
import type { HttpResponse } from '../support/http-exchange.ts';

/** Why a call came to nothing, classified once. */
export type NovaFailure = {
  readonly kind: /** No answer: it may have been done all the same. */
    | 'unreachable'
    /** Keystone does not take us, or Nova does not take Keystone's token. */
    | 'credentials'
    | 'forbidden'
    | 'missing'
    /** The state of things does not allow it now. */
    | 'conflict'
    | 'refused'
    /** The server cannot at the moment (429, 5xx). */
    | 'trouble'
    /** The cloud is not as it has to be: no compute endpoint, several regions, a Nova that is too old. Somebody has to mend the configuration. */
    | 'unfit';
  /** The server's own words, where it had any. */
  readonly message: string;
  readonly status?: number;
};

/** Either what was asked for, or why not. */
export type NovaResult<T> =
  | { readonly value: T; readonly failure?: undefined }
  | { readonly value?: undefined; readonly failure: NovaFailure };

export const failed = (kind: NovaFailure['kind'], message: string, status?: number): { readonly failure: NovaFailure } => ({
  failure: { kind, message, ...(status !== undefined && { status }) },
});

const kinds: Readonly<Record<number, NovaFailure['kind']>> = {
  401: 'credentials',
  403: 'forbidden',
  404: 'missing',
  408: 'trouble',
  409: 'conflict',
  429: 'trouble',
};

const wordsIn = (body: Json | undefined): string | undefined => {
  if (!isObject(body)) return undefined;
  // Nova: {"badRequest": {"message"}}; Keystone: {"error": {"message"}}; of microversions: {"errors": [{"detail"}]}.
  const first = Array.isArray(body['errors']) ? body['errors'][0] : Object.values(body)[0];
  if (!isObject(first)) return undefined;
  const text = first['message'] ?? first['detail'] ?? first['title'];
  return typeof text === 'string' && text !== '' ? text : undefined;
};

/** The body as JSON; undefined when it is none. */
export const jsonOf = (text: string): Json | undefined => {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
};

/** What an answer that is no success means. */
export const failureOf = ({ status, text }: HttpResponse): NovaFailure => {
  const message = wordsIn(jsonOf(text))?.replaceAll(/\s+/g, ' ').trim() ?? `the server answered ${status}`;
  return { kind: kinds[status] ?? (status >= 500 ? 'trouble' : 'refused'), message, status };
};

/** There was no answer. */
export const unreachable = (error: unknown, url: string): NovaFailure => {
  const { code, message } = error as { readonly code?: string; readonly message?: string };
  const what = [message === undefined || message === '' ? String(error) : message, code].filter(part => part !== undefined);
  return { kind: 'unreachable', message: `${new URL(url).origin} does not answer: ${[...new Set(what)].join(', ')}` };
};
