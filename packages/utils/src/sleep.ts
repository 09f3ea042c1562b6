/** The part of a clock that a pause needs: a function that runs another later. */
type Delayed = { readonly after: (milliseconds: number, run: () => void) => () => void };

/**
 * Implements `sleep` for a clock that has `after`: ends with the signal, and leaves no timer
 * behind.
 */
export function sleepBy(
  { after }: Delayed,
  milliseconds: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  return new Promise(resolve => {
    if (signal?.aborted === true) return resolve();
    const done = (): void => {
      cancel();
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const cancel = after(milliseconds, done);
    signal?.addEventListener('abort', done);
  });
}
