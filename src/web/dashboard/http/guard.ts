import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Who may ask at all. A browser carries requests of any web page to this machine: what it says about where they come from is checked first. */

/** A request that is not answered, and why, in a sentence. */
export type RequestRefusal = { readonly status: 401 | 403; readonly message: string };

const loopback = ['localhost', '127.0.0.1', '[::1]'];

/** Spells a host as the header does: IPv6 in brackets. */
const spelled = (host: string): string => (host.includes(':') ? `[${host}]` : host);

/** What the header Host may be. A page whose own name is made to resolve to this machine (DNS rebinding) comes with its own name there. */
export const hostsOf = (host: string, port: number): ReadonlySet<string> => {
  const names = [...loopback, spelled(host)];
  return new Set(names.flatMap(name => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`])));
};

/** Somebody follows a link to the dashboard, wherever it stands: into a tab of its own, and nobody but the browser gets to see what is there. */
const isVisit = (headers: IncomingHttpHeaders): boolean =>
  headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document' && headers.origin === undefined;

/** What speaks against a request that claims to come from here; undefined when nothing does. The dashboard itself may be visited from anywhere. */
export const rejectForeignOrigin = (
  headers: IncomingHttpHeaders,
  hosts: ReadonlySet<string>,
  isPage = false,
): RequestRefusal | undefined => {
  const { host = '', origin } = headers;
  if (!hosts.has(host.toLowerCase())) {
    return { status: 403, message: `this dashboard is not served as "${host}": open it as http://${[...hosts][1] ?? ''}/` };
  }
  if (origin !== undefined && origin.toLowerCase() !== `http://${host.toLowerCase()}`) {
    return { status: 403, message: `requests from pages of ${origin} are not allowed` };
  }
  const site = headers['sec-fetch-site'];
  // `none`: somebody typed the address, or opened a link from outside of the browser.
  if (site !== undefined && site !== 'same-origin' && site !== 'none' && !(isPage && isVisit(headers))) {
    return { status: 403, message: 'requests from pages of other sites are not allowed' };
  }
  return undefined;
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** undefined when the header carries the token. How long the comparison takes tells nothing about the token. */
export const withoutToken = (authorization: string | undefined, token: string): RequestRefusal | undefined => {
  if (timingSafeEqual(digest(authorization ?? ''), digest(`Bearer ${token}`))) return undefined;
  return { status: 401, message: 'the request lacks the token of the printed link: open the full link' };
};
