import type { Clock } from '../support/clock.ts';
import { Deadline } from '../support/deadline.ts';
import type { Asking, Exchange, Saying } from '../support/http-exchange.ts';
import { type NovaResult, unreachable } from './failure.ts';

export type Asker = { readonly exchange: Exchange; readonly clock: Clock };

/** One call with a time limit in milliseconds: its answer, whatever the status, or that there was none. Rejects with the signal's reason only. */
export const ask = async (
  { exchange, clock }: Asker,
  asking: Asking,
  limitMs: number,
  signal: AbortSignal,
): Promise<NovaResult<Saying>> => {
  using deadline = new Deadline(clock, limitMs, [signal]);
  try {
    return { value: await exchange(asking, deadline.signal) };
  } catch (error) {
    signal.throwIfAborted();
    return { failure: unreachable(error, asking.url) };
  }
};
