import {
  type KubernetesRelease,
  lacking,
  oldestTested,
  readRelease,
  statusMessage,
} from '@drydock/apimachinery';
import type { Api } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import { ApiError } from './api-error.ts';
import type { Reach } from './kinds.ts';

/** Seconds between retries. */
const pause = 2;

/**
 * Returns the release of the API server. Throws an ApiError when the server refuses the request,
 * another Error when it fails.
 */
export async function releaseOf(api: Api, signal?: AbortSignal): Promise<KubernetesRelease> {
  const response = await api.call({ method: 'GET', path: '/version' }, signal);
  if (response.status >= 500) throw new Error(statusMessage(response));
  const release = response.status === 200 ? readRelease(response.body) : undefined;
  if (release === undefined)
    throw new ApiError(`failed to read the version of the API server: ${statusMessage(response)}`);
  return release;
}

function tell(log: Log, release: KubernetesRelease): void {
  const lacks = lacking(release).map(
    ({ name, since, without }) => `${name} (since 1.${since}): ${without}`,
  );
  log.info('discovered the API server', {
    version: release.version,
    ...(lacks.length > 0 && { lacks }),
  });
  if (release.minor < oldestTested)
    log.warn(
      `this release of Kubernetes is older than 1.${oldestTested}, the oldest that Drydock is tested on`,
      {
        version: release.version,
      },
    );
}

/**
 * Logs the API server's version, and its missing features, in one line. Retries until the server
 * responds or the signal is aborted. Never rejects.
 */
export async function logServerVersion({ api, clock, log, defects, signal }: Reach): Promise<void> {
  while (!signal.aborted) {
    try {
      return tell(log, await releaseOf(api, signal));
    } catch (error) {
      if (signal.aborted) return;
      const cause = defects.textOf('Process', 'version', error);
      if (error instanceof ApiError) return log.warn(cause);
      log.warn('failed to read the version of the API server; retrying', { error: cause });
    }
    await clock.sleep(pause * 1000, signal);
  }
}
