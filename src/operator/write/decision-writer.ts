import type { Write } from '../../core/maintenance/decision.ts';
import { secondsAfter } from '../../core/time.ts';
import type { Clock } from '../../support/clock.ts';
import type { UncertainWrites } from './uncertain-writes.ts';
import type { WriteOutcome, Writer } from './writer.ts';

/** First and longest pause after a write that was not stored, in seconds; it doubles from one to the next. */
const first = 0.05;
const longest = 60;

/** What uncertain writes are about: all of the objects. */
const everything = '';

type Options = {
  readonly writer: Pick<Writer, 'write'>;
  readonly clock: Pick<Clock, 'now'>;
  /** All objects are decided about together: what one has begun, the others go by. */
  readonly uncertainWrites: UncertainWrites;
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

  /** Whether it is known what became of everything that was written; else the object's turn comes again. */
  async settled(key: string): Promise<boolean> {
    if (await this.#options.uncertainWrites.settle(everything)) return true;
    this.#again(key);
    return false;
  }

  /** Resolves when all are stored, or one is not. `nodeName` is for the log. Rejects for defects only. */
  async write(key: string, nodeName: string, writes: readonly Write[]): Promise<void> {
    for (const write of writes) {
      const answered = await this.#options.writer.write(write, nodeName);
      if (answered.result === 'stored') continue;
      const isUncertain = answered.result === 'conflict' || (answered.result === 'refused' && answered.mayBeMade);
      if (isUncertain) this.#options.uncertainWrites.add(everything, write);
      return this.#failed(key, answered);
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
    this.#again(key, 'until' in answered ? answered.until : undefined);
  }

  #again(key: string, until?: Temporal.Instant): void {
    const failures = this.#failures.get(key) ?? 0;
    this.#failures.set(key, failures + 1);
    const pause = Math.min(first * 2 ** Math.min(failures, 20), longest);
    this.#options.again(key, until ?? secondsAfter(this.#options.clock.now(), pause));
  }
}
