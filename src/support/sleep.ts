import type { Clock } from './clock.ts';

/** `sleep` of a clock that has `after`: it ends with the signal, and leaves nothing behind. */
export const sleepBy = ({ after }: Pick<Clock, 'after'>, milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise(resolve => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = after(milliseconds, done);
    signal?.addEventListener('abort', done);
  });
