import type { BlockerSummary } from '@drydock/core/drain';
import { blockersNow, type VmsNow, vmsNow } from '@drydock/core/maintenance';
import { readNode } from '@drydock/core/node';
import type { MaintenanceRequest } from '@drydock/core/request';
import { endsOf, isDraining, messageOf, notServed, phaseOf } from '@drydock/core/request';
import type { Api, Connection } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import { isAnyServed, kindsOf } from '@drydock/operator/discovery';
import type { ConnectionFlags } from '../shared/connection-flags.ts';
import { drainInputsAt } from '../shared/drain-inputs.ts';
import { plainOutput, printText, written } from '../shared/output.ts';
import { requestsOf } from '../shared/requests.ts';
import { withCluster } from '../shared/with-cluster.ts';
import { chosenOf, type NamespaceFlags, namespaceChoice } from './namespace-choice.ts';
import { machinesOf, machinesTable, type ShownMachine } from './status-machines.ts';
import { type Shown, statusTable } from './status-table.ts';

export type StatusFlags = ConnectionFlags &
  NamespaceFlags & { readonly output: 'table' | 'wide' | 'json' | 'yaml' };

type Looked = { readonly blockers: readonly BlockerSummary[]; readonly vms?: VmsNow };

function shown(request: MaintenanceRequest, { blockers, vms }: Looked): Shown {
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

type Told = {
  readonly all: readonly Shown[];
  readonly others: readonly string[];
  readonly machines: readonly ShownMachine[];
};

function tell(
  { all, others, machines }: Told,
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
    const all = requests.map(request => shown(request, looks.get(request.key) ?? { blockers: [] }));
    const others = await cordonedByOthers(connection, node, requests);
    const machines = await machinesOf(connection, node, choice);
    printText(tell({ all, others, machines: machines.chosen }, node, flags.output));
    const hidden = elsewhere + machines.elsewhere;
    if (hidden > 0)
      plainOutput.note(
        `${hidden} ${hidden === 1 ? 'object' : 'objects'} of other namespaces not shown; --all-namespaces shows them`,
      );
    if (requests.length === 0 && !(await isAnyServed(connection, adapters)))
      plainOutput.note(notServed);
  });
}
