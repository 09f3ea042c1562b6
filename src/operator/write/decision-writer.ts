import type { Write } from '../../core/maintenance/decision.ts';
import { secondsAfter } from '../../core/time.ts';
import type { Clock } from '../../support/clock.ts';
import type { WriteOutcome, Writer } from './writer.ts';

/** First and longest pause after a write that was not stored, in seconds; it doubles from one to the next. */
const first = 0.05;
const longest = 60;

type Options = {
  readonly writer: Writer;
  readonly clock: Clock;
  /** Something was stored, and nothing was refused: the next step may be taken. */
  readonly stored: (key: string) => void;
  /** Look at it again at this time. */
  readonly again: (key: string, at: Temporal.Instant) => void;
};

/** Carries out what was decided about an object: one write after the other, and none after one that was not stored. What fails is tried again, ever more slowly. */
export class DecisionWriter {
  readonly #options: Options;
  readonly #failures = new Map<string, number>();
  /** What was refused last, by the object's key. */
  readonly #troubles = new Map<string, string>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Resolves when all are stored, or one is not. `nodeName` is for the log. Rejects for defects only. */
  async write(key: string, nodeName: string, writes: readonly Write[]): Promise<void> {
    for (const write of writes) {
      const answered = await this.#options.writer.write(write, nodeName);
      if (answered.result !== 'stored') return this.#failed(key, answered);
    }
    this.#failures.delete(key);
    // Whatever was refused has been stored by now, or is not wanted any more.
    this.#troubles.delete(key);
    if (writes.length > 0) this.#options.stored(key);
  }

  /** What the API server has refused, for example because the quorum of the control plane forbids it, people are told where they look. */
  withTrouble<T extends { readonly message: string; readonly warning?: true }>(key: string, decision: T): T {
    const trouble = this.#troubles.get(key);
    if (trouble === undefined || decision.message === '') return decision;
    return { ...decision, warning: true, message: `${decision.message}; refused so far: ${trouble}` };
  }

  #failed(key: string, answered: Exclude<WriteOutcome, { readonly result: 'stored' }>): void {
    if ('message' in answered) this.#troubles.set(key, answered.message);
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const pause = Math.min(first * 2 ** Math.min(failures, 20), longest);
    this.#options.again(key, 'until' in answered ? answered.until : secondsAfter(this.#options.clock.now(), pause));
  }
}
