import type { MaintenancePlanStatus } from '@drydock/apis/schema';
import { durationText } from '@drydock/rehearse/report';

/** Text of a plan's forecast from its latest rehearsal. */

type Forecast = NonNullable<MaintenancePlanStatus['forecast']>;

/** Smallest drift that is shown, in seconds; smaller ones are chance. */
const leastDriftSeconds = 30;

function driftText({ driftSeconds = 0 }: Forecast): string {
  if (Math.abs(driftSeconds) < leastDriftSeconds) return '';
  const much = durationText(1000 * Math.abs(driftSeconds));
  return `, ${much} ${driftSeconds > 0 ? 'later' : 'earlier'} than at first`;
}

function endText(forecast: Forecast): string {
  const { estimatedCompletionTime: end, latestCompletionTime: latest = end, finishes } = forecast;
  if (end === undefined) return finishes ? 'it is done' : 'it does not finish';
  return `it ends at ${end} (9 of 10 times by ${latest})${driftText(forecast)}`;
}

/** Returns the lines of the forecast; none where the plan has not been rehearsed. */
export function forecastLines({ forecast }: MaintenancePlanStatus): readonly string[] {
  if (forecast === undefined) return [];
  const {
    rehearsalTime,
    nodes,
    podsMoved,
    podsMovedAgain,
    windows,
    blocked = [],
    blockedNodes,
    lowest = [],
  } = forecast;
  const openings = windows > 1 ? `, in ${windows} openings of its windows` : '';
  const [worst] = lowest;
  const least =
    worst === undefined
      ? ''
      : `; at the lowest ${worst.ready} of ${worst.replicas} pods of ${worst.workload} are ready`;
  return [
    `Rehearsed at ${rehearsalTime}: ${endText(forecast)}${openings}; ${nodes} nodes, ${podsMoved} pods moved, ${podsMovedAgain} of them again${least}`,
    ...blocked.map(({ node, message }) => `  ${node} gets stuck: ${message}`),
    ...(blockedNodes > blocked.length ? [`  and ${blockedNodes - blocked.length} more`] : []),
  ];
}
