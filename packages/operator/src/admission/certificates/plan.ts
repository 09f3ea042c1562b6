import { createPrivateKey, randomBytes, webcrypto, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { KeyPair } from '@drydock/utils';
import type * as X509 from '@peculiar/x509';

/**
 * Creation of certificates: an authority of our own, and certificates for the webhook's server that
 * it signs. ECDSA on P-256.
 */

/**
 * Days of validity of an authority: ten years. The time between two renewals of the authority is
 * far longer than the life of the certificates that it signs.
 */
const authorityDays = 3650;
const servingDays = 365;

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };

/** Hours by which certificates are backdated: clocks of API servers may be slow. */
const backdatedHours = 1;

/**
 * Loads the library, which is large and needed once a year, on demand. It needs the Reflect
 * polyfill of its dependency injection.
 */
async function library(): Promise<typeof X509> {
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

function lifeFrom(
  now: Temporal.Instant,
  days: number,
): { readonly notBefore: Date; readonly notAfter: Date } {
  return {
    notBefore: new Date(now.subtract({ hours: backdatedHours }).epochMilliseconds),
    notAfter: new Date(now.add({ hours: days * 24 }).epochMilliseconds),
  };
}

/** Returns a serial number: positive and 127 bits long, as RFC 5280 demands. */
function serial(): string {
  const bytes = randomBytes(16);
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40;
  return bytes.toString('hex');
}

async function pemOfKey(key: CryptoKey): Promise<string> {
  const der = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', key)).toString('base64');
  return `-----BEGIN PRIVATE KEY-----\n${(der.match(/.{1,64}/g) ?? []).join('\n')}\n-----END PRIVATE KEY-----\n`;
}

function keyOfPem(pem: string): Promise<CryptoKey> {
  return webcrypto.subtle.importKey(
    'pkcs8',
    Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ''), 'base64'),
    algorithm,
    false,
    ['sign'],
  );
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

/**
 * Creates a new authority. Its name contains its creation time, which distinguishes an old and a
 * new one.
 */
export async function makeAuthority(now: Temporal.Instant): Promise<KeyPair> {
  const x509 = await library();
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serial(),
    name: `CN=drydock-webhook-ca ${now.toString({ smallestUnit: 'second' })}`,
    ...lifeFrom(now, authorityDays),
    signingAlgorithm: algorithm,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${certificate.toString('pem')}\n`, key: await pemOfKey(keys.privateKey) };
}

/** Creates a server certificate for these names and IP addresses, signed by the authority. */
export async function makeServing(
  authority: KeyPair,
  names: readonly string[],
  now: Temporal.Instant,
): Promise<KeyPair> {
  const x509 = await library();
  const keys = await newKeys();
  const issuer = new x509.X509Certificate(authority.cert);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serial(),
    subject: 'CN=drydock-webhook',
    issuer: issuer.subject,
    ...lifeFrom(now, servingDays),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: await keyOfPem(authority.key),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map(value => ({ type: isIP(value) > 0 ? 'ip' : 'dns', value }) as const),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(issuer),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { cert: `${certificate.toString('pem')}\n`, key: await pemOfKey(keys.privateKey) };
}

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
