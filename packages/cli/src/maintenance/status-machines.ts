import { joinRows, timeText } from '@drydock/apimachinery';
import { readMachineMaintenance } from '@drydock/apis';
import { isOver, type MachineRequest, machineMaintenancesPath } from '@drydock/core/machine';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { type ChosenObjects, chosenOf, type NamespaceChoice } from './namespace-choice.ts';
import { table } from './status-table.ts';

/** A machine with announced events, as shown. */
export type ShownMachine = {
  readonly machine: string;
  readonly node: string;
  readonly events: readonly string[];
  readonly strategy: string;
  readonly phase: string;
  readonly waitingFor: string;
  readonly deadline: string;
  readonly message: string;
};

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function shown({ machineName, nodeName, history, events, status }: MachineRequest): ShownMachine {
  return {
    machine: machineName,
    node: nodeName ?? history.nodeName ?? '',
    events: events.map(
      ({ kind, state, deadline }) =>
        `${kind} ${state.toLowerCase()}${deadline ? ` by ${timeText(deadline)}` : ''}`,
    ),
    strategy: textOf(status['strategy']),
    phase: history.phase ?? 'Pending',
    waitingFor: textOf(status['waitingFor']),
    deadline: textOf(status['deadline']),
    message: textOf(status['message']),
  };
}

/**
 * Returns machines with announced events that are not over, of one node or of all; the earliest
 * deadline first.
 */
export async function machinesOf(
  api: Api,
  node: string | undefined,
  choice: NamespaceChoice,
): Promise<ChosenObjects<ShownMachine>> {
  const objects = await listAll(api, machineMaintenancesPath, {}, 'empty');
  const open = objects
    .map(readMachineMaintenance)
    .filter(request => typeof request !== 'string')
    .filter(({ history }) => !isOver(history.phase));
  const { chosen, elsewhere } = chosenOf(open, choice);
  const here = chosen
    .map(shown)
    .filter(one => node === undefined || one.node === node || one.machine === node)
    .toSorted((one, other) => ((one.deadline || '~') < (other.deadline || '~') ? -1 : 1));
  return { chosen: here, elsewhere };
}

/** Returns the machines as text; empty when there are none. */
export function machinesTable(all: readonly ShownMachine[]): string {
  if (all.length === 0) return '';
  const rows = all.map(({ machine, node, events, strategy, phase, waitingFor, deadline }) => [
    machine,
    node === machine || node === '' ? '-' : node,
    events[0]?.split(' ')[0] ?? '-',
    strategy || '-',
    phase,
    waitingFor || '-',
    deadline || '-',
  ]);
  const details = all
    .filter(({ message }) => message !== '')
    .flatMap(({ machine, message }) => ['', `${machine}: ${message}`]);
  return joinRows([
    ...table([['MACHINE', 'NODE', 'EVENT', 'STRATEGY', 'PHASE', 'WAITS FOR', 'DEADLINE'], ...rows]),
    ...details,
  ]);
}
