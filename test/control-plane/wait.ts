import { setTimeout as sleep } from 'node:timers/promises';
import { errorText } from '@drydock/utils';

export type Patience = { readonly deadlineMs?: number; readonly everyMs?: number };

/**
 * What a check says: the thing that was waited for, or in words how things stand, for the message
 * of the failure.
 */
export type Seen<T> = { readonly done: T } | { readonly yet: string };

async function attempt<T>(check: () => Promise<Seen<T>>): Promise<Seen<T>> {
  try {
    return await check();
  } catch (error) {
    return { yet: errorText(error) };
  }
}

/**
 * Asks again and again until the check is done; when the deadline passes, the error says what was
 * waited for and how things stood last.
 */
export async function waitFor<T>(
  what: string,
  check: () => Promise<Seen<T>>,
  patience: Patience = {},
): Promise<T> {
  const { deadlineMs = 30_000, everyMs = 50 } = patience;
  const start = performance.now();
  for (;;) {
    const seen = await attempt(check);
    if ('done' in seen) return seen.done;
    if (performance.now() - start > deadlineMs)
      throw new Error(`waited ${deadlineMs} ms for ${what}; last seen: ${seen.yet}`);
    await sleep(everyMs);
  }
}

/** The same for a plain yes or no. */
export async function until(
  what: string,
  check: () => Promise<boolean>,
  patience: Patience = {},
): Promise<void> {
  return waitFor(
    what,
    async () => ((await check()) ? { done: undefined } : { yet: 'no' }),
    patience,
  );
}
