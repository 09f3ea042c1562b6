import { randomBytes, webcrypto } from 'node:crypto';
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
export const backdatedHours = 1;

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
