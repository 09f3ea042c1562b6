import { BlockList, isIP } from 'node:net';

/** A host, without the brackets of an IPv6 address, and its port. */
export type Destination = { readonly host: string; readonly port: string };

/**
 * One entry of the comma-separated `NO_PROXY`: `domain.com`, `.domain.com`, an address or a CIDR,
 * all but the CIDR with an optional port, or `*`.
 */
type Exception = (destination: Destination) => boolean;

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 4 ? 'ipv4' : 'ipv6';
}

const maxBits = { ipv4: 32, ipv6: 128 } as const;

function isIn(address: string, bits: number): Exception {
  const list = new BlockList();
  list.addSubnet(address, bits, familyOf(address));
  return ({ host }) => isIP(host) !== 0 && list.check(host, familyOf(host));
}

const isLoopback = isIn('127.0.0.0', 8);

/** Parses a CIDR; returns undefined for any other entry. */
function network(entry: string): Exception | undefined {
  const [, address = '', bits = ''] = /^([^/]*)\/(\d{1,3})$/.exec(entry) ?? [];
  return isIP(address) === 0 || Number(bits) > maxBits[familyOf(address)]
    ? undefined
    : isIn(address, Number(bits));
}

function named(name: string): Exception {
  if (isIP(name) !== 0) return isIn(name, maxBits[familyOf(name)]);
  const suffix = name.startsWith('.') ? name : `.${name}`;
  return ({ host }) => host === name || host.endsWith(suffix);
}

/**
 * Parses a name or an address with an optional port. An entry without a name or address matches
 * nothing.
 */
function place(entry: string): Exception {
  const [, before = entry, onlyPort = ''] = (isIP(entry) === 0 && /^(.*):(\d+)$/.exec(entry)) || [];
  const name = before.replace(/^\[(.*)\]$/, '$1').replace(/^\*\./, '.');
  if (name === '') return () => false;
  const isThere = named(name);
  return destination => (onlyPort === '' || onlyPort === destination.port) && isThere(destination);
}

/**
 * Returns whether a destination is reached without a proxy: this machine itself, and the entries of
 * `NO_PROXY`, by the rules of Go programs (golang.org/x/net/http/httpproxy), which kubectl and all
 * operators in Go follow. Node's own rules lack CIDRs, and clusters list the Service network as
 * one.
 */
export function isExempt({ host, port }: Destination, noProxy: string): boolean {
  const destination = { host: host.toLowerCase(), port };
  if (destination.host === 'localhost' || destination.host === '::1' || isLoopback(destination))
    return true;
  const entries = noProxy
    .toLowerCase()
    .split(',')
    .map(entry => entry.trim())
    .filter(entry => entry !== '');
  return (
    entries.includes('*') || entries.some(entry => (network(entry) ?? place(entry))(destination))
  );
}
