import { joinRows, timeText } from '@drydock/apimachinery';
import { readMachineMaintenance } from '@drydock/apis';
import type { BlockerSummary } from '@drydock/core/drain';
import { isOver, type MachineRequest, machineMaintenancesPath } from '@drydock/core/machine';
import { blockersNow, type VmsNow, vmsNow } from '@drydock/core/maintenance';
import { readNode } from '@drydock/core/node';
import {
  endsOf,
  isDraining,
  type MaintenanceRequest,
  messageOf,
  notServed,
  phaseOf,
} from '@drydock/core/request';
import { type Api, type Connection, listAll } from '@drydock/kube-client';
import { isAnyServed, kindsOf } from '@drydock/operator/discovery';
import { UsageError } from '@drydock/utils';
import { defaultNamespace } from '../install/rollout.ts';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { drainInputsAt } from '../shared/drain-inputs.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { requestsOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { type Shown, statusTable, table } from './status-table.ts';

/** Flags of a command that shows namespaced objects, with kubectl's names. */
type NamespaceFlags = { readonly namespace?: string; readonly allNamespaces?: boolean };

/** Choice of the objects to show: those of one namespace, or all. */
type NamespaceChoice =
  | { readonly kind: 'all' }
  | { readonly kind: 'one'; readonly namespace: string };

/** Objects of a list to show, and the number of the others. */
type ChosenObjects<T> = { readonly chosen: readonly T[]; readonly elsewhere: number };

/**
 * Returns the choice of namespace: without a flag, the operator's, because users with rights in
 * another namespace could put arbitrary text into this list. Throws a UsageError for both flags at
 * once.
 */
export function namespaceChoice({ namespace, allNamespaces }: NamespaceFlags): NamespaceChoice {
  if (namespace !== undefined && allNamespaces === true)
    throw new UsageError('--namespace and --all-namespaces cannot be combined');
  return allNamespaces === true
    ? { kind: 'all' }
    : { kind: 'one', namespace: namespace ?? defaultNamespace };
}

/** Selects the objects to show; cluster-scoped ones are always included. */
export function chosenOf<T extends { readonly namespace?: string | undefined }>(
  all: readonly T[],
  choice: NamespaceChoice,
): ChosenObjects<T> {
  const chosen = all.filter(
    ({ namespace }) =>
      choice.kind === 'all' || namespace === undefined || namespace === choice.namespace,
  );
  return { chosen, elsewhere: all.length - chosen.length };
}

/** A machine with announced events, as shown. */
type ShownMachine = {
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

function shownMachine({
  machineName,
  nodeName,
  history,
  events,
  status,
}: MachineRequest): ShownMachine {
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
async function machinesOf(
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
    .map(shownMachine)
    .filter(one => node === undefined || one.node === node || one.machine === node)
    .toSorted((one, other) => ((one.deadline || '~') < (other.deadline || '~') ? -1 : 1));
  return { chosen: here, elsewhere };
}

/** Returns the machines as text; empty when there are none. */
function machinesTable(all: readonly ShownMachine[]): string {
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

export type StatusFlags = ConnectionFlags &
  NamespaceFlags & { readonly output: 'table' | 'wide' | 'json' | 'yaml' };

type Looked = { readonly blockers: readonly BlockerSummary[]; readonly vms?: VmsNow };

function shownRequest(request: MaintenanceRequest, { blockers, vms }: Looked): Shown {
  const { adapter, history } = request;
  return {
    node: request.nodeName,
    kind: adapter.kind,
    name: request.name,
    phase: phaseOf(request),
    level: request.level,
    reason: request.reason ?? '',
    requester: request.requester ?? '',
    ends: endsOf(request),
    progress: history.toEvict === 0 ? '-' : `${history.gone}/${history.toEvict}`,
    since: request.createdAt.toString({ smallestUnit: 'second' }),
    message: messageOf(request),
    blockers,
    ...(vms && { virtualMachines: vms }),
  };
}

async function lookAt(
  connection: Connection,
  nodeName: string,
  requests: readonly MaintenanceRequest[],
): Promise<ReadonlyMap<string, Looked>> {
  const { now, ...drainInputs } = await drainInputsAt(connection, nodeName);
  const looks = requests.map(request => {
    const vms = vmsNow(request, drainInputs, now);
    return [
      request.key,
      { blockers: blockersNow(request, drainInputs, now), ...(vms && { vms }) },
    ] as const;
  });
  return new Map(looks);
}

/**
 * Returns cordoned nodes without a maintenance: users run `status` to learn who holds a node, and
 * then see that none of these kinds does.
 */
async function cordonedByOthers(
  api: Api,
  node: string | undefined,
  requests: readonly MaintenanceRequest[],
): Promise<readonly string[]> {
  const nodes = (await listAll(api, '/api/v1/nodes')).map(readNode);
  const known = new Set(requests.map(({ nodeName }) => nodeName));
  return nodes
    .filter(
      one => one.unschedulable && !known.has(one.name) && (node === undefined || one.name === node),
    )
    .map(({ name }) => name);
}

type StatusTables = {
  readonly all: readonly Shown[];
  readonly others: readonly string[];
  readonly machines: readonly ShownMachine[];
};

function statusOutput(
  { all, others, machines }: StatusTables,
  node: string | undefined,
  output: StatusFlags['output'],
): string {
  const everything = { maintenances: all, cordonedByOthers: others, machineMaintenances: machines };
  switch (output) {
    case 'json':
    case 'yaml':
      return written(everything, output);
    case 'table':
    case 'wide':
      return [statusTable(all, others, { node, wide: output === 'wide' }), machinesTable(machines)]
        .filter(text => text !== '')
        .join('\n\n');
    default:
      return output satisfies never;
  }
}

/** `drydock status [NODE]`: reads the cluster once and prints the maintenances. Writes nothing. */
export async function status(
  node: string | undefined,
  flags: StatusFlags,
  env: Readonly<Record<string, string | undefined>>,
): Promise<void> {
  const choice = namespaceChoice(flags);
  await withCluster(flags, env, async connection => {
    const adapters = await kindsOf(connection, env);
    const { chosen: requests, elsewhere } = chosenOf(
      await requestsOf(connection, adapters, node),
      choice,
    );
    const nodes = [...new Set(requests.filter(isDraining).map(({ nodeName }) => nodeName))];
    const looks = new Map<string, Looked>();
    for (const name of nodes) {
      const here = requests.filter(({ nodeName }) => nodeName === name);
      for (const [key, look] of await lookAt(connection, name, here)) looks.set(key, look);
    }
    const all = requests.map(request =>
      shownRequest(request, looks.get(request.key) ?? { blockers: [] }),
    );
    const others = await cordonedByOthers(connection, node, requests);
    const machines = await machinesOf(connection, node, choice);
    printText(statusOutput({ all, others, machines: machines.chosen }, node, flags.output));
    const hidden = elsewhere + machines.elsewhere;
    if (hidden > 0)
      plainOutput.note(
        `${hidden} ${hidden === 1 ? 'object' : 'objects'} of other namespaces not shown; --all-namespaces shows them`,
      );
    if (requests.length === 0 && !(await isAnyServed(connection, adapters)))
      plainOutput.note(notServed);
  });
}
