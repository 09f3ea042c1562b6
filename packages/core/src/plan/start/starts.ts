import { secondsBetween } from '@drydock/apimachinery';
import type { InFlight } from '../in-flight.ts';
import type { PlanSnapshot } from '../snapshot.ts';
import type { PlanView } from '../view.ts';

/**
 * Starts of nodes, and their durations: computed again each time from verdicts and nodes in flight.
 */

export type NodeStart = Pick<InFlight, 'node' | 'startedAt'>;

/**
 * Returns the nodes that began in this run, and those that are in flight; failures that were set
 * aside have begun too.
 */
export function startsOf({ slices, plan }: PlanSnapshot): readonly NodeStart[] {
  return [...slices.flatMap(({ verdicts }) => verdicts), ...plan.inFlight];
}

/** Seconds that a node is expected to take, before this plan has measured any. */
export const defaultNodeSeconds = 600;

function secondsSeen({ verdicts }: PlanView): readonly number[] {
  return [...verdicts.values()]
    .filter(({ verdict }) => verdict === 'Done')
    .map(({ startedAt, completedAt }) => secondsBetween(startedAt, completedAt));
}

/** Returns the average seconds of a node of this run. */
export function meanDuration(view: PlanView): number | undefined {
  const seen = secondsSeen(view);
  return seen.length === 0
    ? undefined
    : seen.reduce((sum, seconds) => sum + seconds, 0) / seen.length;
}

/** Returns the longest seconds of a node of this run. */
export function maxSeenLength(view: PlanView): number | undefined {
  const seen = secondsSeen(view);
  return seen.length === 0 ? undefined : Math.max(...seen);
}
