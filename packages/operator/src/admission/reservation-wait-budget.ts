import type { Clock } from '@drydock/utils';
import { patienceMs, type ReservationSubject } from './reservation.ts';

/**
 * A budget for how long one request waits for the reservations of others, in total. Reservations
 * for objects that are then stored cost nothing, however many there are; a client that reserves
 * again and again and stores nothing, under one uid or many, delays others by no more than this.
 * Its reservation is taken over then, and the decision is based on what is stored; the operator
 * checks the quorum once more before it changes a node.
 */
export class ReservationWaitBudget {
  readonly #clock: Clock;
  readonly #isStored: (subject: ReservationSubject) => Promise<boolean>;
  #holder: { readonly subject: ReservationSubject; readonly sinceMs: number } | undefined;
  #lostMs = 0;

  constructor(clock: Clock, isStored: (subject: ReservationSubject) => Promise<boolean>) {
    this.#clock = clock;
    this.#isStored = isStored;
  }

  /** True if the budget is spent. */
  get isOver(): boolean {
    return (
      this.#lostMs + (this.#holder === undefined ? 0 : this.#now() - this.#holder.sinceMs) >=
      patienceMs
    );
  }

  /**
   * Records the object that the reservation is for at the moment; undefined if that could not be
   * read.
   */
  async waitsFor(subject: ReservationSubject | undefined): Promise<void> {
    if (subject === undefined || subject.uid === this.#holder?.subject.uid) return;
    const before = this.#holder;
    this.#holder = { subject, sinceMs: this.#now() };
    if (before !== undefined && !(await this.#isStored(before.subject)))
      this.#lostMs += this.#holder.sinceMs - before.sinceMs;
  }

  #now(): number {
    return this.#clock.now().epochMilliseconds;
  }
}
