import { isBefore, isObject, secondsAfter } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';

/**
 * First and longest pause after a refused write, in seconds; it doubles each time. Soon: where no
 * watch shows when the write would be accepted.
 */
const first = 0.5;
const maxLength = { patient: 60, soon: 10 } as const;

type Refused = { readonly times: number; readonly until: Temporal.Instant };

/**
 * Returns the key of a write. A creation has the name in its body: its path is that of the
 * collection.
 */
function keyOf({ method, path, body }: Write): string {
  const { metadata } = body;
  return `${method} ${path} ${method === 'POST' && isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : ''}`;
}

/**
 * A backoff for refused writes: they are not retried before their pause is over, regardless of
 * other events of the node.
 */
export class WriteBackoff {
  readonly #refused = new Map<string, Refused>();

  /** Returns until when this write has to wait; undefined if it may be tried. */
  until(write: Write, now: Temporal.Instant): Temporal.Instant | undefined {
    const until = this.#refused.get(keyOf(write))?.until;
    return until !== undefined && isBefore(now, until) ? until : undefined;
  }

  /** Records a refusal. Returns when the write may be retried. */
  add(
    write: Write,
    now: Temporal.Instant,
    pace: keyof typeof maxLength = 'patient',
  ): Temporal.Instant {
    const times = (this.#refused.get(keyOf(write))?.times ?? 0) + 1;
    const until = secondsAfter(
      now,
      Math.min(first * 2 ** Math.min(times - 1, 20), maxLength[pace]),
    );
    this.#refused.set(keyOf(write), { times, until });
    return until;
  }

  /** Clears the refusals after the write was not refused. */
  clear(write: Write): void {
    this.#refused.delete(keyOf(write));
  }
}
