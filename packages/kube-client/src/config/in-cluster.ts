import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '@drydock/utils';
import { Credentials } from '../http/credentials.ts';
import { caFile, type FileOptions, tokenFile } from './files.ts';

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
