import { type KubernetesRelease, lacking, oldestTested } from '@drydock/apimachinery';
import { serverRelease } from '@drydock/kube-client';
import type { Log } from '@drydock/utils';
import type { DiscoveryOptions } from './served-kinds.ts';

/** Seconds between retries. */
const pause = 2;

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
export async function logServerRelease({
  api,
  clock,
  log,
  defects,
  signal,
}: DiscoveryOptions): Promise<void> {
  while (!signal.aborted) {
    try {
      const found = await serverRelease(api, signal);
      return found.kind === 'release' ? tell(log, found.release) : log.warn(found.message);
    } catch (error) {
      if (signal.aborted) return;
      log.warn('failed to read the version of the API server; retrying', {
        error: defects.textOf('Process', 'version', error),
      });
    }
    await clock.sleep(pause * 1000, signal);
  }
}
