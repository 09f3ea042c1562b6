import type { Log } from '../support/log.ts';

/** Aborted by the first SIGINT or SIGTERM; a second one ends the process at once, as people expect. */
export const stopSignal = (log: Log): AbortSignal => {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      log.info('stopping', { signal: name });
      controller.abort();
    });
  }
  return controller.signal;
};
