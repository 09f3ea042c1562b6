import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Env } from '../../support/env.ts';
import { Credentials } from '../http/credentials.ts';
import { caFile, type FileOptions, tokenFile } from './files.ts';

/** Where the kubelet puts the service account of a pod. */
export const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

/** Whether this process runs in a pod, as client-go sees it. */
export const isInCluster = (env: Env): boolean => Boolean(env['KUBERNETES_SERVICE_HOST']) && Boolean(env['KUBERNETES_SERVICE_PORT']);

/** The API server as a pod finds it (client-go rest.InClusterConfig). */
export const inClusterServer = (env: Env): string => {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  return `https://${host.includes(':') ? `[${host}]` : host}:${env['KUBERNETES_SERVICE_PORT'] ?? ''}`;
};

/** The service account's credentials; its files are read again when the kubelet has replaced them. */
export const inClusterCredentials = (folder: string, options: FileOptions): Credentials =>
  new Credentials([tokenFile(join(folder, 'token'), options), caFile(join(folder, 'ca.crt'), options)], { headers: {}, tls: {} });

/** The pod's own namespace: POD_NAMESPACE, else the service account's. */
export const inClusterNamespace = async (folder: string, env: Env): Promise<string> => {
  const given = env['POD_NAMESPACE'];
  if (given !== undefined && given !== '') return given;
  const text = await readFile(join(folder, 'namespace'), 'utf8').catch(() => '');
  return text.trim() === '' ? 'default' : text.trim();
};
