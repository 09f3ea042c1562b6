import type { Log } from '../../support/log.ts';
import type { Api } from '../ports.ts';

/** Finds out which volumes the claims (`namespace/name`) are bound to. Answers whether anything new is known. */
export const lookUp = async (api: Api, claims: readonly string[], volumes: Map<string, string | null>, log: Log): Promise<boolean> => {
  let found = false;
  for (const claim of claims) {
    const [namespace = '', name = ''] = claim.split('/');
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(name)}`;
    try {
      const { status, body } = await api.call({ method: 'GET', path, priority: 'vital', timeoutMs: 10_000 });
      if (status !== 200 && status !== 404) {
        log.warn('failed to look up a claim', { claim, status });
        continue;
      }
      const volume = status === 200 ? (body as { readonly spec?: { readonly volumeName?: string } }).spec?.volumeName : undefined;
      volumes.set(claim, volume ?? null);
      found = true;
    } catch (error) {
      log.warn('failed to look up a claim', { claim, error });
    }
  }
  return found;
};
