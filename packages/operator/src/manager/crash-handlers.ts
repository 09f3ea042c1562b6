import type { PanicHandler } from '@drydock/utils';

/**
 * Reports errors that no queue, store or timer has caught, and keeps the process alive: otherwise
 * every replica would crash in the same way, and with them the webhook that API requests wait for.
 * Only the task that threw has ended; the loops, the lease and the watches continue.
 */
export function installCrashHandlers(defects: PanicHandler): void {
  process.on(
    'unhandledRejection',
    reason => void defects.tell('Process', 'unhandledRejection', reason),
  );
  process.on(
    'uncaughtException',
    error => void defects.tell('Process', 'uncaughtException', error),
  );
}
