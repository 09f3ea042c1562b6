import { joinLimited, secondsAfter } from '@drydock/apimachinery';
import type { Write } from '@drydock/core';
import type { Clock } from '@drydock/utils';
import type { UnconfirmedWrites } from './cache-updater.ts';
import type { WriteOutcome, Writer } from './writer.ts';

/** First and longest pause after a write that was not stored, in seconds; it doubles each time. */
const first = 0.05;
const maxLength = 60;

/** Key of uncertain writes that affect all objects: what one has begun, the others count. */
const everything = '';

/** Number of refusals that the message of an object names. */
const maxTroubles = 3;

type Options = {
  readonly writer: Pick<Writer, 'write'>;
  readonly clock: Pick<Clock, 'now'>;
  /**
   * Store of uncertain writes. All objects are decided together: what one has begun affects the
   * others.
   */
  readonly uncertainWrites: UnconfirmedWrites;
  /** Callback after something was stored and nothing was refused: the next step may be taken. */
  readonly stored: (key: string) => void;
  /** Callback that requeues the object at this time. */
  readonly again: (key: string, at: Temporal.Instant) => void;
};

/** Key of the writes that all writes of a decision wait for. */
const shared = '';

/** Number of chains that are written at the same time. */
const atOnce = 8;

/** Reports whether the write removes or records something: it never waits behind a creation. */
export function takesAway({ method, cache: store }: Write): boolean {
  return method !== 'POST' || store === 'planRecords';
}

function rank(writes: readonly Write[]): number {
  return writes.every(takesAway) ? 0 : 1;
}

/** Callbacks around the writes about each thing. */
export type WriteTurn = {
  /** Called before its writes are sent. Returns whether they are still to be sent. */
  readonly begins: (of: string) => boolean;
  /** Called after the responses. */
  readonly ended: (of: string) => void;
};

const always: WriteTurn = { begins: () => true, ended: () => {} };

/**
 * A writer that carries out what was decided about an object. Writes about the same thing are sent
 * one after the other, and none after a failed one; writes about other things do not wait for them.
 * Failures are retried with growing pauses.
 */
export class DecisionWriter {
  readonly #options: Options;
  /** Number of failures in a row, by the object's key and by what the write is about. */
  readonly #failures = new Map<string, Map<string, number>>();
  /** Last refusals, by the same keys. */
  readonly #troubles = new Map<string, Map<string, string>>();

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * Reports whether the outcome of everything written is known; otherwise the object is requeued.
   */
  async settled(key: string): Promise<boolean> {
    const { uncertainWrites } = this.#options;
    const settled = await Promise.all(
      [everything, key].map(about => uncertainWrites.settle(about)),
    );
    if (!settled.includes(false)) return true;
    this.#again(key, shared);
    return false;
  }

  /**
   * Resolves when all writes are stored or refused. `nodeName` is for the log. Rejects for defects
   * only.
   */
  async write(key: string, nodeName: string, writes: readonly Write[]): Promise<void> {
    if (await this.writeShared(key, nodeName, writes)) await this.writeOwn(key, nodeName, writes);
  }

  /**
   * Sends the writes that all others wait for. Returns whether all of them are stored.
   * `unanswered`: other things that are written at this time.
   */
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

  /** Sends the other writes. */
  async writeOwn(
    key: string,
    nodeName: string,
    writes: readonly Write[],
    turn: WriteTurn = always,
  ): Promise<void> {
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

  /**
   * Adds to the message what the API server has refused, for example because the quorum of the
   * control plane forbids it, so that users see it.
   */
  withTrouble<T extends { readonly message: string; readonly warning?: true }>(
    key: string,
    decision: T,
  ): T {
    const troubles = [...new Set(this.refusals(key).values())];
    if (troubles.length === 0 || decision.message === '') return decision;
    return {
      ...decision,
      warning: true,
      message: `${decision.message}; refused so far: ${joinLimited(troubles, maxTroubles)}`,
    };
  }

  /** Returns the last refusals of the API server, by what they are about. */
  refusals(key: string): ReadonlyMap<string, string> {
    return this.#troubles.get(key) ?? new Map<string, string>();
  }

  /** Forgets an object that is gone. */
  forget(key: string): void {
    this.#failures.delete(key);
    this.#troubles.delete(key);
  }

  async #chain(
    key: string,
    of: string,
    nodeName: string,
    writes: readonly Write[],
  ): Promise<boolean> {
    for (const write of writes) {
      const outcome = await this.#options.writer.write(write, nodeName);
      if (outcome.result === 'stored') continue;
      const isUncertain =
        outcome.result === 'conflict' || (outcome.result === 'refused' && outcome.outcomeUnknown);
      if (isUncertain) this.#options.uncertainWrites.add(of === shared ? everything : key, write);
      this.#failed(key, of, outcome);
      return false;
    }
    this.#failures.get(key)?.delete(of);
    // Everything that was refused has been stored by now, or is not wanted any more.
    this.#troubles.get(key)?.delete(of);
    return true;
  }

  /** Forgets refusals of writes that are not sent any more. */
  #forgetOthers(key: string, chains: ReadonlySet<string>): void {
    for (const map of [this.#failures.get(key), this.#troubles.get(key)])
      for (const of of map?.keys() ?? []) if (of !== shared && !chains.has(of)) map?.delete(of);
  }

  #failed(
    key: string,
    of: string,
    outcome: Exclude<WriteOutcome, { readonly result: 'stored' }>,
  ): void {
    if ('message' in outcome)
      this.#troubles.set(key, new Map([...this.refusals(key), [of, outcome.message]]));
    this.#again(key, of, 'until' in outcome ? outcome.until : undefined);
  }

  #again(key: string, of: string, until?: Temporal.Instant): void {
    const failures = this.#failures.get(key)?.get(of) ?? 0;
    this.#failures.set(key, new Map([...(this.#failures.get(key) ?? []), [of, failures + 1]]));
    const pause = Math.min(first * 2 ** Math.min(failures, 20), maxLength);
    this.#options.again(key, until ?? secondsAfter(this.#options.clock.now(), pause));
  }
}
