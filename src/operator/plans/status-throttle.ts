import type { JsonObject } from '../../core/json.ts';
import { isBefore, secondsAfter } from '../../core/time.ts';

/** What people read and nothing goes by, after a restart either. */
const told: ReadonlySet<string> = new Set(['message', 'waiting', 'waitingFor', 'upNext', 'expectedEndTime']);

/** It is written at most this often, in seconds; what the plan goes by at once. Every node of the plan waits for a write. */
const toldEvery = 1;

/** When the statuses of plans are written. */
export class StatusThrottle {
  readonly #writtenAt = new Map<string, Temporal.Instant>();

  /** When this patch of the plan's status may be written; undefined: now, and it counts as written. */
  dueAt(uid: string, patch: JsonObject, now: Temporal.Instant): Temporal.Instant | undefined {
    const last = this.#writtenAt.get(uid);
    const due = last && secondsAfter(last, toldEvery);
    if (due !== undefined && isBefore(now, due) && Object.keys(patch).every(key => told.has(key))) return due;
    this.#writtenAt.set(uid, now);
    return undefined;
  }

  /** The plan is gone. */
  forget(uid: string): void {
    this.#writtenAt.delete(uid);
  }
}
