import type { PanicHandler } from '../../support/panic-handler.ts';

/**
 * What no queue, store or timer has caught is told, and the process lives: every replica would end in the same way, and with them the webhook that others wait
 * for. Whoever began what threw is at its end; the loops, the lease and the watches are not.
 */
export const installCrashHandlers = (defects: PanicHandler): void => {
  process.on('unhandledRejection', reason => void defects.tell('Process', 'unhandledRejection', reason));
  process.on('uncaughtException', error => void defects.tell('Process', 'uncaughtException', error));
};
