import type { DiscoveryOptions } from './served-kinds.ts';

/** Seconds between retries. */
const pause = 2;

/**
 * Returns whether the cluster is OpenShift: it serves config.openshift.io/v1. Retries until the API
 * server responds; false when the signal is aborted before. Never rejects.
 */
export async function isOpenShift({
  api,
  clock,
  log,
  defects,
  signal,
}: DiscoveryOptions): Promise<boolean> {
  while (!signal.aborted) {
    try {
      const { status } = await api.call(
        { method: 'GET', path: '/apis/config.openshift.io/v1' },
        signal,
      );
      if (status === 200 || status === 404) return status === 200;
      log.warn('failed to find out whether this is OpenShift; retrying', { status });
    } catch (error) {
      if (signal.aborted) return false;
      log.warn('failed to reach the API server; retrying', {
        error: defects.textOf('Process', 'OpenShift', error),
      });
    }
    await clock.sleep(pause * 1000, signal);
  }
  return false;
}
