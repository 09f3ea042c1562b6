import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { KeyPair } from '@drydock/utils';
import { backdatedHours } from './make.ts';

/** Decides when which certificate of the self-made set is due. */

/**
 * The stored set: the certificates of all authorities that must be trusted, newest first, and the
 * key of the newest.
 */
export type CertificateSet = {
  readonly authorities: readonly string[];
  readonly authorityKey: string;
  readonly serving: KeyPair;
};

/**
 * The due renewal. `everything`: there is no set, or none that is usable. `authority`: a new one is
 * to be trusted beside the old one, which goes on to vouch for the serving certificate until that
 * is due. `serving`: to be signed by the newest authority.
 */
export type Due = 'nothing' | 'serving' | 'authority' | 'everything';

/**
 * Days of remaining validity below which the next authority is created: twice the life of the
 * certificates that it signs.
 */
const authorityLeftDays = 730;

/**
 * Minutes before a new authority signs anything: every API server must have received it by then.
 */
const authorityAgeMinutes = 10;

const dayMs = 86_400_000;

function covers(certificate: X509Certificate, name: string): boolean {
  return (isIP(name) > 0 ? certificate.checkIP(name) : certificate.checkHost(name)) !== undefined;
}

type Parsed = {
  readonly authorities: readonly [X509Certificate, ...X509Certificate[]];
  readonly serving: X509Certificate;
};

/** Parses the set; undefined if a part is missing, cannot be read, or does not match the other. */
function parse({ authorities, authorityKey, serving }: CertificateSet): Parsed | undefined {
  try {
    const [newest, ...older] = authorities.map(pem => new X509Certificate(pem));
    const certificate = new X509Certificate(serving.cert);
    if (newest === undefined || !newest.checkPrivateKey(createPrivateKey(authorityKey)))
      return undefined;
    return certificate.checkPrivateKey(createPrivateKey(serving.key))
      ? { authorities: [newest, ...older], serving: certificate }
      : undefined;
  } catch {
    // With any error in it, it is unusable.
    return undefined;
  }
}

function leftMs({ validToDate }: X509Certificate, now: number): number {
  return validToDate.getTime() - now;
}

/**
 * Reports whether the certificate has not expired. Its start is not checked: a replica whose clock
 * is fast may have created it.
 */
function isValid(certificate: X509Certificate, now: number): boolean {
  return leftMs(certificate, now) > 0;
}

function isVouchedFor({ authorities, serving }: Parsed, now: number): boolean {
  return authorities.some(
    authority =>
      isValid(authority, now) &&
      serving.issuer === authority.subject &&
      serving.verify(authority.publicKey),
  );
}

/** Returns what has to be created at this moment, for a server with these names. */
export function dueOf(
  set: CertificateSet | undefined,
  names: readonly string[],
  at: Temporal.Instant,
): Due {
  const parsed = set && parse(set);
  if (parsed === undefined) return 'everything';
  const now = at.epochMilliseconds;
  const { authorities, serving } = parsed;
  const [newest] = authorities;
  if (!isValid(newest, now)) return 'everything';
  const isOfUse =
    isVouchedFor(parsed, now) &&
    isValid(serving, now) &&
    names.every(name => covers(serving, name));
  if (!isOfUse) return 'serving';
  if (leftMs(newest, now) < authorityLeftDays * dayMs) return 'authority';
  const life = serving.validToDate.getTime() - serving.validFromDate.getTime();
  const isKnown =
    now - newest.validFromDate.getTime() >= (backdatedHours * 60 + authorityAgeMinutes) * 60_000;
  return isKnown && leftMs(serving, now) < life / 3 ? 'serving' : 'nothing';
}

/**
 * Returns the names of the certificate, which are kept when another replica with names of its own
 * renews it.
 */
export function namesIn(pem: string): readonly string[] {
  return (new X509Certificate(pem).subjectAltName ?? '').split(', ').flatMap(entry => {
    const cut = entry.indexOf(':');
    return cut === -1 ? [] : [entry.slice(cut + 1)];
  });
}

/** Returns the authorities that may still vouch for something. */
export function unexpired(authorities: readonly string[], at: Temporal.Instant): readonly string[] {
  return authorities.filter(pem => leftMs(new X509Certificate(pem), at.epochMilliseconds) > 0);
}
