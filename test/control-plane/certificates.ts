import 'reflect-metadata';
import { createPrivateKey, KeyObject, webcrypto } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import * as x509 from '@peculiar/x509';

/**
 * Certificates that the control plane's own authority signs, for what stands beside or behind it.
 */

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' };
const dayMs = 86_400_000;

/** The name under which the API server shows itself to API servers behind it. */
export const frontProxy = 'front-proxy-client';

/** What the API server shows to real nodes and their pods. */
export const reachableServer = 'reachable-server';

/** Where a certificate is, its key, and who signed it. */
export function filesOf(
  folder: string,
  name: string,
): { readonly authority: string; readonly certificate: string; readonly key: string } {
  return {
    authority: join(folder, 'ca.crt'),
    certificate: join(folder, name, 'tls.crt'),
    key: join(folder, name, 'tls.key'),
  };
}

/** For whom: a client by its common name, or a server by the names that it is called by. */
type Subject = { readonly commonName: string; readonly servedNames?: readonly string[] };

function usageOf({ servedNames }: Subject): readonly x509.Extension[] {
  return servedNames === undefined
    ? [new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth])]
    : [
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          servedNames.map(value => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const),
        ),
      ];
}

const pem = (key: CryptoKey): string | Buffer =>
  // Go reads this form of elliptic keys everywhere.
  KeyObject.from(key).export({ type: 'sec1', format: 'pem' });

/**
 * Signs a certificate; it has a folder of its own, because some programs read theirs anew whenever
 * anything changes beside it.
 */
export async function issue(folder: string, name: string, subject: Subject): Promise<void> {
  const authority = new x509.X509Certificate(readFileSync(join(folder, 'ca.crt'), 'utf8'));
  const authorityKey = createPrivateKey(readFileSync(join(folder, 'ca.key'))).toCryptoKey(
    algorithm,
    false,
    ['sign'],
  );
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
  const now = Date.now();
  const certificate = await x509.X509CertificateGenerator.create({
    subject: `CN=${subject.commonName}`,
    issuer: authority.subject,
    notBefore: new Date(now - dayMs / 24),
    notAfter: new Date(now + 7 * dayMs),
    signingAlgorithm: algorithm,
    publicKey: keys.publicKey,
    signingKey: authorityKey,
    extensions: [
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      ...usageOf(subject),
    ],
  });
  const files = filesOf(folder, name);
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(files.certificate, `${certificate.toString('pem')}\n`);
  writeFileSync(files.key, pem(keys.privateKey), { mode: 0o600 });
}

/**
 * For the API server at an address that real nodes reach; pods reach it as the service
 * `kubernetes`.
 */
export function writeReachableServer(folder: string, address: string): Promise<void> {
  return issue(folder, reachableServer, {
    commonName: 'kube-apiserver',
    servedNames: [address, '10.0.0.1', 'kubernetes.default', 'kubernetes.default.svc'],
  });
}

/** What the API server needs to speak for its callers. */
export function writeFrontProxy(folder: string): Promise<void> {
  return issue(folder, frontProxy, { commonName: frontProxy });
}
