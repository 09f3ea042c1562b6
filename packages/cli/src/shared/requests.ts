import { byAge, type KindAdapter, type MaintenanceRequest } from '@drydock/core/request';
import type { Api } from '@drydock/kube-client';
import { listAll } from '@drydock/kube-client';

/**
 * Returns all maintenances of the served kinds, on one node or on all, oldest first. Throws an
 * error that names what could not be read.
 */
export async function requestsOf(
  api: Api,
  adapters: readonly KindAdapter[],
  node?: string,
): Promise<readonly MaintenanceRequest[]> {
  const lists = await Promise.all(
    adapters.map(async adapter => {
      const objects = await listAll(api, adapter.path, {}, 'empty');
      return objects.map(adapter.read).filter(request => typeof request !== 'string');
    }),
  );
  return lists
    .flat()
    .filter(({ nodeName }) => node === undefined || nodeName === node)
    .toSorted(byAge);
}

/** Returns a maintenance's title: `NodeMaintenance disk`, `Maintenance ops/n1`. */
export function titleOf({ adapter, namespace, name }: MaintenanceRequest): string {
  return `${adapter.kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;
}
