/** What runs a function later: the part of a clock that a pause needs. */
type Delayed = { readonly after: (milliseconds: number, run: () => void) => () => void };

/** `sleep` of a clock that has `after`: it ends with the signal, and leaves nothing behind. */
export const sleepBy = ({ after }: Delayed, milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
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
