import type { JsonObject } from '@drydock/apimachinery';
import { isBefore, secondsAfter } from '@drydock/apimachinery';

/** Fields that people read and no decision uses, not even after a restart. */
const told: ReadonlySet<string> = new Set([
  'message',
  'waiting',
  'waitingFor',
  'upNext',
  'estimatedCompletionTime',
]);

/**
 * Seconds between two writes of these fields; other fields are written at once. Every node of the
 * plan waits for a write.
 */
const toldEvery = 1;

/** A throttle for the writes of the statuses of plans. */
export class StatusThrottle {
  readonly #writtenAt = new Map<string, Temporal.Instant>();

  /**
   * Returns when this patch of the plan's status may be written; undefined: now, and it counts as
   * written.
   */
  dueAt(uid: string, patch: JsonObject, now: Temporal.Instant): Temporal.Instant | undefined {
    const last = this.#writtenAt.get(uid);
    const due = last && secondsAfter(last, toldEvery);
    if (due !== undefined && isBefore(now, due) && Object.keys(patch).every(key => told.has(key)))
      return due;
    this.#writtenAt.set(uid, now);
    return undefined;
  }

  /** Forgets a plan that is gone. */
  forget(uid: string): void {
    this.#writtenAt.delete(uid);
  }
}
