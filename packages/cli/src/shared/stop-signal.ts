import type { Log } from '@drydock/utils';
import { onStop } from './on-stop.ts';

/** Returns a signal that the first SIGINT or SIGTERM aborts. */
export function stopSignal(log: Log): AbortSignal {
  const controller = new AbortController();
  onStop(signal => {
    log.info('stopping', { signal });
    controller.abort();
  });
  return controller.signal;
}
