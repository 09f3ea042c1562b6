import { setTimeout as sleep } from 'node:timers/promises';

/** A controller of the harness, in this process. */
export interface Repeated {
  /**
   * Ends it after the turn that is under way. Rejects when that one has failed: then it was of no
   * use for some time.
   */
  stop(): Promise<void>;
}

/**
 * Does something again and again; what fails is tried again in the next turn. It keeps nobody from
 * ending.
 */
export function repeat(what: string, everyMs: number, turn: () => Promise<void>): Repeated {
  const done = new AbortController();
  const work = async (): Promise<unknown> => {
    let failure: unknown;
    while (!done.signal.aborted) {
      failure = await turn().then(
        () => undefined,
        (error: unknown) => error,
      );
      await sleep(everyMs, undefined, { ref: false, signal: done.signal }).catch(() => {});
    }
    return failure;
  };
  const working = work();
  return {
    stop: async () => {
      done.abort();
      const failure = await working;
      if (failure !== undefined) throw new Error(`${what} failed in the end`, { cause: failure });
    },
  };
}
