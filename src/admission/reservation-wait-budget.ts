import type { Clock } from '../support/clock.ts';
import { patienceMs, type ReservationSubject } from './reservation.ts';

/**
 * How long one request waits for the reservations of others, all in all. What is reserved for an object that is stored then costs nothing, however many there
 * are; whoever reserves again and again and stores nothing, under one uid or under many, keeps nobody waiting for longer than this. It is taken over then
 * and decided on what is stored; the operator asks for the quorum once more before it touches a node.
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

  /** It has been waited for long enough. */
  get isOver(): boolean {
    return this.#lostMs + (this.#holder === undefined ? 0 : this.#now() - this.#holder.sinceMs) >= patienceMs;
  }

  /** The reservation is for this object at the moment; undefined where that could not be seen. */
  async waitsFor(subject: ReservationSubject | undefined): Promise<void> {
    if (subject === undefined || subject.uid === this.#holder?.subject.uid) return;
    const before = this.#holder;
    this.#holder = { subject, sinceMs: this.#now() };
    if (before !== undefined && !(await this.#isStored(before.subject))) this.#lostMs += this.#holder.sinceMs - before.sinceMs;
  }

  #now(): number {
    return this.#clock.now().epochMilliseconds;
  }
}
