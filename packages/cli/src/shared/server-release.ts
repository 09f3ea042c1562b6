import type { KubernetesRelease } from '@drydock/apimachinery';
import { type Api, serverRelease } from '@drydock/kube-client';
import { ApiError } from './api-error.ts';

/**
 * Returns the release of the API server. Throws an ApiError when the server refuses the request,
 * another Error when it fails.
 */
export async function releaseOf(api: Api): Promise<KubernetesRelease> {
  const found = await serverRelease(api);
  if (found.kind === 'refused') throw new ApiError(found.message);
  return found.release;
}
