/**
 * Returns a host as node:net takes it: an IPv6 address without the brackets that it has in URLs.
 */
export const bareHost = (host: string): string => host.replace(/^\[|\]$/g, '');
