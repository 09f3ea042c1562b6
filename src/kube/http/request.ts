import type { IncomingHttpHeaders } from 'node:http';
import type { ApiCall, ApiResponse } from '../../operator/ports.ts';
import type { RequestHeaders } from './exchange.ts';

/** The path on the wire: the server's own path, the call's, and the query without what is undefined. */
export const requestPath = (server: URL, { path, query = {} }: Pick<ApiCall, 'path' | 'query'>): string => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  const base = server.pathname.replace(/\/$/, '');
  return parameters.size === 0 ? `${base}${path}` : `${base}${path}?${parameters.toString()}`;
};

/** The body on the wire. */
export const requestBody = (call: ApiCall): string | undefined => (call.body === undefined ? undefined : JSON.stringify(call.body));

/** All headers of a call. */
export const requestHeaders = (call: ApiCall, body: string | undefined, userAgent: string, granted: RequestHeaders): RequestHeaders => ({
  ...granted,
  accept: call.accept ?? 'application/json',
  'user-agent': userAgent,
  ...(body === undefined
    ? {}
    : { 'content-type': call.contentType ?? 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
});

/** Headers of an answer, several of one name joined. */
export const responseHeaders = (headers: IncomingHttpHeaders): ApiResponse['headers'] =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]));

/** The body of an answer: parsed where its content type is JSON. Throws a SyntaxError when it is not the JSON that it says it is. */
export const responseBody = (text: string, contentType: string | undefined): unknown =>
  text !== '' && /^application\/([\w.-]+\+)?json\b/.test(contentType ?? '') ? JSON.parse(text) : text;
