import { joinLimited } from '@drydock/apimachinery';
import {
  machineMaintenanceApi,
  machineMaintenanceFinalizer,
  machineMaintenancesPath,
} from '@drydock/core/machine';
import { beforeAnnotation } from '@drydock/core/node';
import {
  hasFinalizer,
  type KindAdapter,
  type MaintenanceRequest,
  removal,
} from '@drydock/core/request';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';
import type { Clock } from '@drydock/utils';
import { refusedError } from '../shared/api-error.ts';
import { goDuration } from '../shared/go-values.ts';
import { plainOutput } from '../shared/output.ts';
import { requestsOf, titleOf } from '../shared/requests.ts';

/** A MachineMaintenance whose finalizer only an operator removes. */
type StoredMachine = {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly uid: string;
    readonly finalizers?: readonly string[];
  };
};

/** Nodes and machines that an operator must release before it is removed. */
export type Held = {
  readonly machines: readonly StoredMachine[];
  readonly requests: readonly MaintenanceRequest[];
  /** One line for each held node, and for each maintenance that only an operator can finalize. */
  readonly lines: readonly string[];
};

type StoredNode = {
  readonly metadata: {
    readonly name: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
};

/**
 * Returns all maintenances, and the held nodes and machines: by the record on the node, or by
 * Drydock's finalizer.
 */
export async function heldOf(api: Api, adapters: readonly KindAdapter[]): Promise<Held> {
  const requests = await requestsOf(api, adapters);
  const nodes = (await listAll(api, '/api/v1/nodes')) as readonly StoredNode[];
  const recorded = nodes
    .filter(({ metadata }) => metadata.annotations?.[beforeAnnotation] !== undefined)
    .map(({ metadata }) => metadata.name);
  const names = [
    ...new Set([...recorded, ...requests.filter(hasFinalizer).map(({ nodeName }) => nodeName)]),
  ].toSorted();
  const lines = names.map(name => {
    const titles = requests.filter(({ nodeName }) => nodeName === name).map(titleOf);
    return `node/${name} held by ${titles.length === 0 ? 'a maintenance that is gone' : joinLimited(titles)}`;
  });
  const machines = (
    (await listAll(api, machineMaintenancesPath, {}, 'empty')) as readonly StoredMachine[]
  ).filter(({ metadata }) => metadata.finalizers?.includes(machineMaintenanceFinalizer) === true);
  const ofMachines = machines.map(
    ({ metadata }) =>
      `MachineMaintenance ${metadata.namespace}/${metadata.name}, which the operator has to let go`,
  );
  return { requests, machines, lines: [...lines, ...ofMachines] };
}

type Waiting = {
  readonly api: Api;
  readonly adapters: readonly KindAdapter[];
  readonly clock: Clock;
  readonly timeoutSeconds: number;
};

async function deleteMachine(
  api: Api,
  { namespace, name, uid }: StoredMachine['metadata'],
): Promise<void> {
  const path = `/apis/${machineMaintenanceApi}/namespaces/${namespace}/machinemaintenances/${name}`;
  const answer = await api.call({
    method: 'DELETE',
    path,
    body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
  });
  if (![200, 202, 404].includes(answer.status)) throw refusedError(answer);
  plainOutput.line(
    `machinemaintenance.${machineMaintenanceApi.split('/')[0] ?? ''}/${name} deleted`,
  );
}

/**
 * Deletes all maintenances and waits until the operator has released every node. Throws when the
 * timeout passes before.
 */
export async function releaseAll(
  { api, adapters, clock, timeoutSeconds }: Waiting,
  { requests, machines }: Held,
): Promise<void> {
  // MachineMaintenances first, because they create maintenances.
  for (const { metadata } of machines) await deleteMachine(api, metadata);
  for (const request of requests) {
    const answer = await api.call(removal(request));
    if (![200, 202, 404].includes(answer.status)) throw refusedError(answer);
    plainOutput.line(
      `${request.adapter.kind.toLowerCase()}.${request.adapter.apiVersion.split('/')[0] ?? ''}/${request.name} deleted`,
    );
  }
  const end = clock.now().add({ seconds: timeoutSeconds });
  let said = '';
  for (;;) {
    const { lines } = await heldOf(api, adapters);
    if (lines.length === 0) return plainOutput.line('every node is released');
    if (Temporal.Instant.compare(clock.now(), end) >= 0)
      throw new Error(
        `after ${goDuration(timeoutSeconds)} there is still ${joinLimited(lines, 5)}; drydock why NODE says what keeps it, and nothing else has been removed`,
      );
    const text = joinLimited(lines, 5);
    if (text !== said) plainOutput.note(`waiting: ${text}`);
    said = text;
    await clock.sleep(500);
  }
}
