import type { Clock, HttpRequest, HttpResponse, HttpTransport } from '@drydock/utils';
import { Deadline, isDefect } from '@drydock/utils';
import { type NovaResult, unreachable } from './failure.ts';

export type NovaTransport = { readonly exchange: HttpTransport; readonly clock: Clock };

/**
 * Sends one call with a time limit in milliseconds; returns its response, whatever the status, or
 * the failure. Rejects with the signal's reason, and for defects.
 */
export async function ask(
  { exchange, clock }: NovaTransport,
  asking: HttpRequest,
  limitMs: number,
  signal: AbortSignal,
): Promise<NovaResult<HttpResponse>> {
  using deadline = new Deadline(clock, limitMs, [signal]);
  try {
    return { value: await exchange(asking, deadline.signal) };
  } catch (error) {
    signal.throwIfAborted();
    if (isDefect(error)) throw error;
    return { failure: unreachable(error, asking.url) };
  }
}
