import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Checks of the origin of requests: a browser sends requests of any web page to this machine, so
 * the headers about their origin are checked first.
 */

/** A refused request, with the reason as a sentence. */
export type RequestRefusal = { readonly status: 401 | 403; readonly message: string };

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Returns a host as the header spells it: IPv6 in brackets. */
function spelled(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * Returns the valid values of the header Host. A page whose name resolves to this machine (DNS
 * rebinding) sends its own name there.
 */
export function hostsOf(host: string, port: number): ReadonlySet<string> {
  const names = [...loopback, spelled(host)];
  return new Set(names.flatMap(name => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])));
}

/**
 * Returns whether a user follows a link to the dashboard, from any site: as a top-level document,
 * whose contents only the browser sees.
 */
function isVisit(headers: IncomingHttpHeaders): boolean {
  return (
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document' &&
    headers.origin === undefined
  );
}

/**
 * Returns why a request does not come from this origin; undefined when it does. The page itself may
 * be opened from anywhere.
 */
export function rejectForeignOrigin(
  headers: IncomingHttpHeaders,
  hosts: ReadonlySet<string>,
  isPage = false,
): RequestRefusal | undefined {
  const { host = '', origin } = headers;
  if (!hosts.has(host.toLowerCase())) {
    return {
      status: 403,
      message: `this dashboard is not served as "${host}": open it as http://${[...hosts][1] ?? ''}/`,
    };
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    return { status: 403, message: `requests from pages of ${origin} are not allowed` };
  }
  const site = headers['sec-fetch-site'];
  // `none`: the user typed the address, or opened a link from outside the browser.
  if (
    site !== undefined &&
    site !== 'same-origin' &&
    site !== 'none' &&
    !(isPage && isVisit(headers))
  ) {
    return { status: 403, message: 'requests from pages of other sites are not allowed' };
  }
  return undefined;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Returns a refusal unless the header contains the token. Compares in constant time. */
export function withoutToken(
  authorization: string | undefined,
  token: string,
): RequestRefusal | undefined {
  if (timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))) return undefined;
  return {
    status: 401,
    message: 'the request lacks the token of the printed link: open the full link',
  };
}
