import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';
import { type Clock, type Env, isDefect, type Log } from '@drydock/utils';
import {
  type CredentialFields,
  type CredentialSource,
  Credentials,
  textOf,
} from '../http/credentials.ts';

/** Options for re-reading files from time to time. */
export type FileOptions = {
  readonly clock: Clock;
  readonly log: Log;
  /**
   * Minimum time between two reads, in milliseconds; 10,000 when left out. client-go uses a minute
   * for tokens.
   */
  readonly rereadMs?: number;
};

/**
 * Credentials from files. Re-reads them when due; keeps the last ones while the files cannot be
 * read (files are replaced one by one).
 */
class FileSource implements CredentialSource {
  readonly #options: FileOptions;
  readonly #load: () => Promise<CredentialFields>;
  readonly #what: string;
  #good: CredentialFields | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<CredentialFields> | undefined;

  constructor(what: string, options: FileOptions, load: () => Promise<CredentialFields>) {
    this.#what = what;
    this.#options = options;
    this.#load = load;
  }

  read(): Promise<CredentialFields> {
    const { clock, rereadMs = 10_000 } = this.#options;
    if (this.#good !== undefined && clock.now().epochMilliseconds - this.#readAtMs < rereadMs)
      return Promise.resolve(this.#good);
    this.#reading ??= this.#reread().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  renew(): void {
    this.#readAtMs = Number.NEGATIVE_INFINITY;
  }

  async #reread(): Promise<CredentialFields> {
    this.#readAtMs = this.#options.clock.now().epochMilliseconds;
    try {
      this.#good = await this.#load();
    } catch (error) {
      if (isDefect(error)) throw error;
      if (this.#good === undefined)
        throw new Error(`cannot use ${this.#what}: ${textOf(error)}`, { cause: error });
      this.#options.log.warn('failed to reload credentials; keeping the previous ones', {
        what: this.#what,
        error: textOf(error),
      });
    }
    return this.#good;
  }
}

/**
 * Returns a source for a bearer token in a file, as service accounts have them. Uses `fallback`
 * while the file cannot be read.
 */
export function tokenFile(path: string, options: FileOptions, fallback?: string): CredentialSource {
  return new FileSource(`the token file ${path}`, options, async () => {
    const token = await readTrimmed(path).catch(error => {
      if (fallback === undefined) throw error;
      return fallback;
    });
    if (token === '') throw new Error('it is empty');
    return { authorization: `Bearer ${token}` };
  });
}

/** Returns a source for a certificate authority in a file. */
export function caFile(path: string, options: FileOptions): CredentialSource {
  return new FileSource(`the certificate authority file ${path}`, options, async () => ({
    ca: await readFile(path, 'utf8'),
  }));
}

/** PEM text, inline or in a file. */
export type PemFile = { readonly data: string } | { readonly file: string };

/**
 * Returns a source for a client certificate and its key. Replaces both together, and only when they
 * match each other.
 */
export function certificatePair(
  cert: PemFile,
  key: PemFile,
  options: FileOptions,
): CredentialSource {
  return new FileSource(
    `the client certificate (${nameOf(cert)}, key ${nameOf(key)})`,
    options,
    async () => {
      const pair = { cert: await textIn(cert), key: await textIn(key) };
      createSecureContext(pair);
      return pair;
    },
  );
}

function nameOf(pem: PemFile): string {
  return 'file' in pem ? pem.file : 'in the kubeconfig';
}

function textIn(pem: PemFile): Promise<string> {
  return 'file' in pem ? readFile(pem.file, 'utf8') : Promise.resolve(pem.data);
}

async function readTrimmed(path: string): Promise<string> {
  return (await readFile(path, 'utf8')).trim();
}

/** Folder in which the kubelet mounts the service account of a pod. */
export const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Returns whether this process runs in a pod, by client-go's rule. */
export function isInCluster(env: Env): boolean {
  return Boolean(env['KUBERNETES_SERVICE_HOST']) && Boolean(env['KUBERNETES_SERVICE_PORT']);
}

/** Returns the API server's URL as seen from a pod (client-go rest.InClusterConfig). */
export function inClusterServer(env: Env): string {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  return `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? ''}`;
}

/**
 * Returns the service account's credentials; re-reads its files after the kubelet has replaced
 * them.
 */
export function inClusterCredentials(folder: string, options: FileOptions): Credentials {
  return new Credentials(
    [tokenFile(join(folder, 'token'), options), caFile(join(folder, 'ca.crt'), options)],
    { headers: {}, tls: {} },
  );
}

/** Returns the pod's own namespace: POD_NAMESPACE, else the service account's. */
export async function inClusterNamespace(folder: string, env: Env): Promise<string> {
  const given = env['POD_NAMESPACE'];
  if (given !== undefined && given !== '') return given;
  const text = await readFile(join(folder, 'namespace'), 'utf8').catch(() => '');
  return text.trim() === '' ? 'default' : text.trim();
}
