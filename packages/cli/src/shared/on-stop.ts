import { constants } from 'node:os';
import type { Log } from '@drydock/utils';

/**
 * Milliseconds within which a repeated signal counts as the same: a terminal sends Ctrl-C to all
 * its processes, and npm and the launcher forward it.
 */
const sameKey = 500;

/**
 * Calls back at the first SIGINT or SIGTERM; a second one ends the process at once, as users
 * expect.
 */
export function onStop(stop: (signal: NodeJS.Signals) => void): void {
  let since: number | undefined;
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const now = performance.now();
      if (since !== undefined && now - since > sameKey) process.exit(128 + constants.signals[name]);
      if (since === undefined) stop(name);
      since ??= now;
    });
  }
}

/** Returns a signal that the first SIGINT or SIGTERM aborts. */
export function stopSignal(log: Log): AbortSignal {
  const controller = new AbortController();
  onStop(signal => {
    log.info('stopping', { signal });
    controller.abort();
  });
  return controller.signal;
}
