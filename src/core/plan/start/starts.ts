import { secondsBetween } from '../../time.ts';
import type { InFlight } from '../in-flight.ts';
import type { PlanSnapshot } from '../snapshot.ts';
import type { PlanView } from '../view.ts';

/** When nodes were begun with, and how long they took: counted anew each time from verdicts and nodes in flight. */

export type NodeStart = Pick<InFlight, 'node' | 'startedAt'>;

/** Nodes that were begun with in this run, and those that are in flight; failures that were set aside have begun too. */
export const startsOf = ({ slices, plan }: PlanSnapshot): readonly NodeStart[] => [
  ...slices.flatMap(({ verdicts }) => verdicts),
  ...plan.inFlight,
];

/** Seconds that a node takes, as long as this plan has seen none. */
export const defaultNodeSeconds = 600;

const secondsSeen = ({ verdicts }: PlanView): readonly number[] =>
  [...verdicts.values()]
    .filter(({ verdict }) => verdict === 'Done')
    .map(({ startedAt, completedAt }) => secondsBetween(startedAt, completedAt));

/** What a node of this run has taken on average, in seconds. */
export const meanDuration = (view: PlanView): number | undefined => {
  const seen = secondsSeen(view);
  return seen.length === 0 ? undefined : seen.reduce((sum, seconds) => sum + seconds, 0) / seen.length;
};

/** The longest that a node of this run has taken, in seconds. */
export const maxSeenLength = (view: PlanView): number | undefined => {
  const seen = secondsSeen(view);
  return seen.length === 0 ? undefined : Math.max(...seen);
};
