import type { WantedConditions } from '../../hold/conditions.ts';
import type { MaintenanceState } from '../../request/words.ts';
import type { Reported } from './report.ts';

type DrainedCondition = NonNullable<WantedConditions['Drained']>;

function say(status: 'True' | 'False', reason: string, message: string): DrainedCondition {
  return { status, reason, message };
}

function ownersOf(reported: readonly Reported[]): string {
  return reported
    .map(({ progress }) => progress.request)
    .map(
      ({ adapter, name, reason }) =>
        `${adapter.kind} ${name}${reason === undefined || reason === '' ? '' : ` (${reason})`}`,
    )
    .join(', ')
    .slice(0, 1000);
}

const draining: readonly MaintenanceState[] = ['Draining', 'Detaching'];

/**
 * Returns the two conditions on the drain, as in kubectl's alpha table: in progress True/False,
 * complete False/True, given up False/False.
 */
function drainWords(states: readonly MaintenanceState[], owners: string): WantedConditions {
  if (states.some(state => draining.includes(state))) {
    return {
      DrainInProgress: say('True', 'DrydockDrainStarted', owners),
      Drained: say('False', 'DrydockDrainStarted', owners),
    };
  }
  if (states.includes('Drained')) {
    return {
      DrainInProgress: say('False', 'DrydockDrainCompleted', owners),
      Drained: say('True', 'DrydockDrainCompleted', owners),
    };
  }
  if (!states.includes('Failed')) return {};
  return {
    DrainInProgress: say('False', 'DrydockDrainFailed', owners),
    Drained: say('False', 'DrydockDrainFailed', owners),
  };
}

/**
 * Returns the wanted conditions of the node (KEP-5683), computed from the reports of its
 * maintenances. The node is held by the maintenances that hold it.
 */
export function lifecycleConditionsFor(reported: readonly Reported[]): WantedConditions {
  const holding = reported.filter(({ report }) => report.held);
  const planned = reported.filter(({ report }) => !report.held && report.state !== 'Failed');
  const states = holding.map(({ report }) => report.state);
  const atWork = states.some(state => state === 'Drained' || state === 'Cordoned');
  return {
    ...drainWords(states, ownersOf(holding)),
    ...(planned.length > 0 &&
      holding.length === 0 && {
        MaintenancePlanned: say('True', 'DrydockMaintenanceRequested', ownersOf(planned)),
      }),
    ...(atWork && {
      MaintenanceInProgress: say('True', 'DrydockMaintenanceHeld', ownersOf(holding)),
    }),
  };
}
