import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KeyPair } from '@drydock/utils';
import { errorText } from '@drydock/utils';

/**
 * Certificates that others mount into the container: cert-manager, OLM, or a Secret mounted by
 * hand.
 */

type Files = { readonly cert: string; readonly key: string };

/**
 * Returns the places of pairs, of which the first complete one is taken: the given folder, OLM's
 * files, controller-runtime's default folder.
 */
export function mountedPlaces(certDir: string | undefined): readonly Files[] {
  const folder = (path: string): Files => ({
    cert: join(path, 'tls.crt'),
    key: join(path, 'tls.key'),
  });
  const olm = '/apiserver.local.config/certificates';
  return [
    ...(certDir === undefined ? [] : [folder(certDir)]),
    { cert: join(olm, 'apiserver.crt'), key: join(olm, 'apiserver.key') },
    folder(join(tmpdir(), 'k8s-webhook-server', 'serving-certs')),
  ];
}

async function textOf(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (
      error instanceof Error &&
      'code' in error &&
      (error.code === 'ENOENT' || error.code === 'ENOTDIR')
    )
      return undefined;
    throw new Error(`cannot read ${path}: ${errorText(error)}`, { cause: error });
  }
}

/**
 * Reports whether certificate and key match. Mounted files are swapped together, but read one after
 * the other: a mismatch is read again later.
 */
function isPair({ cert, key }: KeyPair): boolean {
  return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}

/**
 * Returns the pair of the first place that has both files; undefined if none has. Rejects if the
 * files cannot be read, contain something else, or do not match (yet).
 */
export async function mountedPair(places: readonly Files[]): Promise<KeyPair | undefined> {
  for (const files of places) {
    const [cert, key] = [await textOf(files.cert), await textOf(files.key)];
    if (cert === undefined || key === undefined) continue;
    let fits: boolean;
    try {
      fits = isPair({ cert, key });
    } catch (error) {
      throw new Error(`${files.cert} and ${files.key} are not a certificate and a key in PEM`, {
        cause: error,
      });
    }
    if (!fits) throw new Error(`${files.key} is not the key of ${files.cert}`);
    return { cert, key };
  }
  return undefined;
}
