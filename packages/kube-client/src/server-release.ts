import { type KubernetesRelease, readRelease, statusMessage } from '@drydock/apimachinery';
import type { Api } from './api.ts';

/** Release of an API server, or why the server does not report one. */
export type ServerRelease =
  | { readonly kind: 'release'; readonly release: KubernetesRelease }
  | { readonly kind: 'refused'; readonly message: string };

/** Reads the release of the API server. Throws an error when the server fails. */
export async function serverRelease(api: Api, signal?: AbortSignal): Promise<ServerRelease> {
  const response = await api.call({ method: 'GET', path: '/version' }, signal);
  if (response.status >= 500) throw new Error(statusMessage(response));
  const release = response.status === 200 ? readRelease(response.body) : undefined;
  if (release !== undefined) return { kind: 'release', release };
  const message = `failed to read the version of the API server: ${statusMessage(response)}`;
  return { kind: 'refused', message };
}
