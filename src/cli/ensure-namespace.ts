import type { Api } from '../operator/ports.ts';
import type { Clock } from '../support/clock.ts';
import type { Log } from '../support/log.ts';

/** Seconds between tries. */
const pause = 2;

/**
 * Makes sure that the namespace of the node leases exists, as the replaced operator does at its start. Tries until it can, or until the
 * signal is aborted: without it no lease can be had, and without a lease no node is touched.
 */
export const ensureNamespace = async (api: Api, name: string, clock: Clock, log: Log, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    try {
      const found = await api.call({ method: 'GET', path: `/api/v1/namespaces/${encodeURIComponent(name)}` }, signal);
      if (found.status === 200) return;
      const body = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
      const made = found.status === 404 ? await api.call({ method: 'POST', path: '/api/v1/namespaces', body }, signal) : found;
      if (made.status === 201 || made.status === 409) return;
      log.warn('cannot make sure of the namespace for node leases; trying again', { namespace: name, status: made.status });
    } catch (error) {
      if (signal.aborted) return;
      log.warn('cannot reach the API server; trying again', { error: error instanceof Error ? error.message : String(error) });
    }
    await clock.sleep(pause * 1000, signal);
  }
};
