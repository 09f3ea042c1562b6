import type { IncomingHttpHeaders } from 'node:http';
import type { ApiCall, ApiResponse } from '../api.ts';
import type { RequestHeaders } from './exchange.ts';

/**
 * Returns the path on the wire: the server URL's own path, the call's path, and the query without
 * undefined values.
 */
export function requestPath(
  server: URL,
  { path, query = {} }: Pick<ApiCall, 'path' | 'query'>,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined) parameters.set(name, String(value));
  const base = server.pathname.replace(/\/$/, '');
  return parameters.size === 0 ? `${base}${path}` : `${base}${path}?${parameters.toString()}`;
}

/** Returns the body on the wire. */
export function requestBody(call: ApiCall): string | undefined {
  return call.body === undefined ? undefined : JSON.stringify(call.body);
}

/** Returns all headers of a call. */
export function requestHeaders(
  call: ApiCall,
  body: string | undefined,
  userAgent: string,
  granted: RequestHeaders,
): RequestHeaders {
  return {
    ...granted,
    accept: call.accept ?? 'application/json',
    'user-agent': userAgent,
    ...(body === undefined
      ? {}
      : {
          'content-type': call.contentType ?? 'application/json',
          'content-length': String(Buffer.byteLength(body)),
        }),
  };
}

/** Returns the headers of a response; several with the same name are joined. */
export function responseHeaders(headers: IncomingHttpHeaders): ApiResponse['headers'] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.join(', ') : value,
    ]),
  );
}

/**
 * Returns the body of a response, parsed if its content type is JSON. Throws a SyntaxError when
 * that JSON is invalid.
 */
export function responseBody(text: string, contentType: string | undefined): unknown {
  return text !== '' && /^application\/([\w.-]+\+)?json\b/.test(contentType ?? '')
    ? JSON.parse(text)
    : text;
}
