import { isObject } from '../../core/json.ts';
import { isBefore, secondsAfter } from '../../core/time.ts';
import type { Write } from '../../core/write.ts';

/** First and longest pause after a refused write, in seconds; it doubles from one to the next. Soon: where nothing tells that it would be taken now. */
const first = 0.5;
const maxLength = { patient: 60, soon: 10 } as const;

type Refused = { readonly times: number; readonly until: Temporal.Instant };

/** What is made has its name in the body: its path is that of all of its kind. */
const keyOf = ({ method, path, body }: Write): string => {
  const { metadata } = body;
  return `${method} ${path} ${method === 'POST' && isObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : ''}`;
};

/** Writes that were refused are not tried again before their pause is over, whatever else happens to the node meanwhile. */
export class WriteBackoff {
  readonly #refused = new Map<string, Refused>();

  /** Until when this write has to wait; undefined when it may be tried. */
  until(write: Write, now: Temporal.Instant): Temporal.Instant | undefined {
    const until = this.#refused.get(keyOf(write))?.until;
    return until !== undefined && isBefore(now, until) ? until : undefined;
  }

  /** It was refused. Answers when it may be tried again. */
  add(write: Write, now: Temporal.Instant, pace: keyof typeof maxLength = 'patient'): Temporal.Instant {
    const times = (this.#refused.get(keyOf(write))?.times ?? 0) + 1;
    const until = secondsAfter(now, Math.min(first * 2 ** Math.min(times - 1, 20), maxLength[pace]));
    this.#refused.set(keyOf(write), { times, until });
    return until;
  }

  /** It was not refused this time. */
  clear(write: Write): void {
    this.#refused.delete(keyOf(write));
  }
}
