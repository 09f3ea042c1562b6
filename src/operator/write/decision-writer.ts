import { joinLimited } from '../../core/text.ts';
import { secondsAfter } from '../../core/time.ts';
import type { Write } from '../../core/write.ts';
import type { Clock } from '../../support/clock.ts';
import type { UnconfirmedWrites } from './unconfirmed-writes.ts';
import type { WriteOutcome, Writer } from './writer.ts';

/** First and longest pause after a write that was not stored, in seconds; it doubles from one to the next. */
const first = 0.05;
const maxLength = 60;

/** What uncertain writes are about that all objects go by: what one has begun, the others count. */
const everything = '';

/** Refusals that the message of an object names. */
const maxTroubles = 3;

type Options = {
  readonly writer: Pick<Writer, 'write'>;
  readonly clock: Pick<Clock, 'now'>;
  /** All objects are decided about together: what one has begun, the others go by. */
  readonly uncertainWrites: UnconfirmedWrites;
  /** Something was stored, and nothing was refused: the next step may be taken. */
  readonly stored: (key: string) => void;
  /** Look at it again at this time. */
  readonly again: (key: string, at: Temporal.Instant) => void;
};

/** What all writes of a decision wait for is about nothing by itself. */
const shared = '';

/** Chains that are written at the same time. */
const atOnce = 8;

/** It takes away, or records: nobody waits for that behind something new. */
export const takesAway = ({ method, cache: store }: Write): boolean => method !== 'POST' || store === 'planRecords';

const rank = (writes: readonly Write[]): number => (writes.every(takesAway) ? 0 : 1);

/** Whoever follows the writes about each thing. */
export type WriteTurn = {
  /** They are about to be made. Answers whether they still are to be. */
  readonly begins: (of: string) => boolean;
  /** They have their answers. */
  readonly ended: (of: string) => void;
};

const always: WriteTurn = { begins: () => true, ended: () => {} };

/**
 * Carries out what was decided about an object. What is about the same is written one after the other, and nothing after what was not stored; what is about something else
 * does not wait for it. What fails is tried again, ever more slowly.
 */
export class DecisionWriter {
  readonly #options: Options;
  /** How often in a row it has failed, by the object's key and by what it is about. */
  readonly #failures = new Map<string, Map<string, number>>();
  /** What was refused last, by the same. */
  readonly #troubles = new Map<string, Map<string, string>>();

  constructor(options: Options) {
    this.#options = options;
  }

  /** Whether it is known what became of everything that was written; else the object's turn comes again. */
  async settled(key: string): Promise<boolean> {
    const { uncertainWrites } = this.#options;
    const settled = await Promise.all([everything, key].map(about => uncertainWrites.settle(about)));
    if (!settled.includes(false)) return true;
    this.#again(key, shared);
    return false;
  }

  /** Resolves when all are stored or refused. `nodeName` is for the log. Rejects for defects only. */
  async write(key: string, nodeName: string, writes: readonly Write[]): Promise<void> {
    if (await this.writeShared(key, nodeName, writes)) await this.writeOwn(key, nodeName, writes);
  }

  /** Makes those that all others wait for. Answers whether all of them are stored. `unanswered`: what else is written about at this time. */
  async writeShared(
    key: string,
    nodeName: string,
    writes: readonly Write[],
    unanswered: ReadonlySet<string> = new Set(),
  ): Promise<boolean> {
    const first = writes.filter(({ of }) => of === undefined);
    this.#forgetOthers(key, new Set([...unanswered, ...writes.map(({ of = shared }) => of)]));
    const isStored = await this.#chain(key, shared, nodeName, first);
    if (isStored && first.length > 0) this.#options.stored(key);
    return isStored;
  }

  /** Makes the others. */
  async writeOwn(key: string, nodeName: string, writes: readonly Write[], turn: WriteTurn = always): Promise<void> {
    const chains = Map.groupBy(
      writes.filter(({ of }) => of !== undefined),
      ({ of = shared }) => of,
    );
    const left = [...chains].toSorted(([, one], [, other]) => rank(one) - rank(other)).values();
    const state = { stored: false };
    const work = async (): Promise<void> => {
      for (const [of, chain] of left) {
        if (!turn.begins(of)) continue;
        if (await this.#chain(key, of, nodeName, chain)) state.stored = true;
        turn.ended(of);
      }
    };
    await Promise.all(Array.from({ length: Math.min(atOnce, chains.size) }, work));
    if (state.stored) this.#options.stored(key);
  }

  /** What the API server has refused, for example because the quorum of the control plane forbids it, people are told where they look. */
  withTrouble<T extends { readonly message: string; readonly warning?: true }>(key: string, decision: T): T {
    const troubles = [...new Set(this.refusals(key).values())];
    if (troubles.length === 0 || decision.message === '') return decision;
    return { ...decision, warning: true, message: `${decision.message}; refused so far: ${joinLimited(troubles, maxTroubles)}` };
  }

  /** What the API server has refused last, by what it is about. */
  refusals(key: string): ReadonlyMap<string, string> {
    return this.#troubles.get(key) ?? new Map<string, string>();
  }

  /** The object is gone. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#troubles.delete(key);
  }

  async #chain(key: string, of: string, nodeName: string, writes: readonly Write[]): Promise<boolean> {
    for (const write of writes) {
      const answered = await this.#options.writer.write(write, nodeName);
      if (answered.result === 'stored') continue;
      const isUncertain = answered.result === 'conflict' || (answered.result === 'refused' && answered.outcomeUnknown);
      if (isUncertain) this.#options.uncertainWrites.add(of === shared ? everything : key, write);
      this.#failed(key, of, answered);
      return false;
    }
    this.#failures.get(key)?.delete(of);
    // Whatever was refused has been stored by now, or is not wanted any more.
    this.#troubles.get(key)?.delete(of);
    return true;
  }

  /** What is not written any more is not refused any more. */
  #forgetOthers(key: string, chains: ReadonlySet<string>): void {
    for (const map of [this.#failures.get(key), this.#troubles.get(key)])
      for (const of of map?.keys() ?? []) if (of !== shared && !chains.has(of)) map?.delete(of);
  }

  #failed(key: string, of: string, answered: Exclude<WriteOutcome, { readonly result: 'stored' }>): void {
    if ('message' in answered) this.#troubles.set(key, new Map([...this.refusals(key), [of, answered.message]]));
    this.#again(key, of, 'until' in answered ? answered.until : undefined);
  }

  #again(key: string, of: string, until?: Temporal.Instant): void {
    const failures = this.#failures.get(key)?.get(of) ?? 0;
    this.#failures.set(key, new Map([...(this.#failures.get(key) ?? []), [of, failures + 1]]));
    const pause = Math.min(first * 2 ** Math.min(failures, 20), maxLength);
    this.#options.again(key, until ?? secondsAfter(this.#options.clock.now(), pause));
  }
}
