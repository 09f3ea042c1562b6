import { timeText } from '@drydock/apimachinery';

/** The times of a story: milliseconds from the moment at which the operator is first started. */

export const minuteMs = 60_000;

/** The operator is first started so long after the cluster; pods are up by then. */
export const warmUpMs = 20_000;

const epochMs = Date.parse('2026-01-01T00:00:00Z');

/** A time of the story as an object has it. */
export function timeAt(atMs: number): string {
  return timeText(Temporal.Instant.fromEpochMilliseconds(epochMs + warmUpMs + Math.floor(atMs)));
}
