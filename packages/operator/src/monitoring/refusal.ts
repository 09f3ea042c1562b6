import { isObject, type Json } from '@drydock/apimachinery';
import type { HttpResponse } from '@drydock/utils';
import type { SourceFailure } from './source.ts';

/** Limit of a server's quoted message, in characters. */
const maxLength = 200;

/** Returns one line, without unprintable characters. */
export function oneLine(text: string): string {
  return text
    .replaceAll(/[\s\p{C}]+/gu, ' ')
    .trim()
    .slice(0, maxLength);
}

/** Parses the body as JSON; returns undefined when it is none. */
export function jsonOf(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}

/**
 * Returns the message of an error response. Prometheus: {"status": "error", "errorType", "error"}.
 * Alertmanager's API v2: a JSON string, or {"code", "message"}.
 */
function wordsIn(body: Json | undefined): string | undefined {
  if (typeof body === 'string') return oneLine(body);
  const text = isObject(body) ? (body['error'] ?? body['message']) : undefined;
  return typeof text === 'string' ? oneLine(text) : undefined;
}

/** Returns the failure of an error response, for the author of the query. */
export function failureOf(title: string, { status, text }: HttpResponse): SourceFailure {
  if (status === 401 || status === 403)
    return {
      result: 'failed',
      problem: `${title} refuses the credentials of the operator (${status})`,
    };
  if (status >= 300 && status < 400)
    return {
      result: 'failed',
      problem: `${title} responds with a redirect (${status}), which is not followed: use the target as its url`,
    };
  const words = wordsIn(jsonOf(text));
  if (words !== undefined && status >= 400 && status < 500 && status !== 404 && status !== 429)
    return { result: 'refused', problem: `${title} refuses the question: ${words}` };
  return {
    result: 'failed',
    problem: `${title} responds with ${status}${words === undefined ? '' : `: ${words}`}`,
  };
}

/** Returns the failure for a response of another shape than the API's. */
export function malformedResponse(problem: string): { readonly failure: SourceFailure } {
  return { failure: { result: 'unusable', problem } };
}
