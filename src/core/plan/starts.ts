import { secondsBetween } from '../time.ts';
import type { InFlight } from './in-flight.ts';
import type { PlanSnapshot } from './snapshot.ts';
import type { PlanView } from './view.ts';

/** When nodes were begun with, and how long they took: counted anew each time from verdicts and nodes in flight. */

export type NodeStart = Pick<InFlight, 'node' | 'startedAt'>;

/** Nodes that were begun with in this run, and those that are in flight; failures that were set aside have begun too. */
export const startsOf = ({ slices, plan }: PlanSnapshot): readonly NodeStart[] => [
  ...slices.flatMap(({ verdicts }) => verdicts),
  ...plan.inFlight,
];

/** The longest that a node of this run has taken, in seconds. */
export const longestSeen = ({ verdicts }: PlanView): number | undefined => {
  const done = [...verdicts.values()].filter(({ verdict }) => verdict === 'Done');
  return done.length === 0 ? undefined : Math.max(...done.map(({ startedAt, completedAt }) => secondsBetween(startedAt, completedAt)));
};
