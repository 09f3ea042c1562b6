import type { NodeVerdict } from '../in-flight.ts';

/**
 * Returns how many nodes may be in flight at once so far: `start` at first; after as many successes
 * as are allowed at once, `factor` times as many; after a failure `start` again. Computed again
 * from the verdicts each time, oldest first.
 */
export function rampOf(
  { start, factor }: { readonly start: number; readonly factor: number },
  verdicts: readonly NodeVerdict[],
): number {
  let [atOnce, successes] = [start, 0];
  for (const { verdict } of inOrder(verdicts)) {
    if (verdict === 'Failed') [atOnce, successes] = [start, 0];
    if (verdict !== 'Done') continue;
    successes += 1;
    if (successes >= atOnce) [atOnce, successes] = [Math.min(atOnce * factor, 1_000_000), 0];
  }
  return atOnce;
}

/** Sorts by time; the name decides between verdicts of the same second. */
export function inOrder(verdicts: readonly NodeVerdict[]): readonly NodeVerdict[] {
  return verdicts.toSorted(
    (one, other) =>
      Temporal.Instant.compare(one.completedAt, other.completedAt) ||
      (one.node < other.node ? -1 : 1),
  );
}
