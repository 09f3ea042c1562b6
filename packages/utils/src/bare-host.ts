/**
 * Returns a host as node:net takes it: an IPv6 address without the brackets that it has in URLs.
 */
export function bareHost(host: string): string {
  return host.replace(/^\[|\]$/g, '');
}
