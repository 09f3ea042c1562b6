import type { KubeEvent } from '@drydock/apimachinery';
import { type JsonObject, mergePatch, sameJson } from '@drydock/apimachinery';
import type { DrainPolicy } from '../drain/policy.ts';
import { type MaintenanceRequest, pathOf } from '../request/request.ts';
import type { Write } from '../write.ts';

/**
 * Maintenances that were created for a machine or by a plan. They are trusted only as far as they
 * match what their creator wrote.
 */

/**
 * Reports whether the node was drained as its current spec demands: completely, and by the
 * generation that the status observed.
 */
export function isDrained({ history, level, status, generation }: MaintenanceRequest): boolean {
  return (
    history.state === 'Drained' &&
    level === 'Drain' &&
    Number(status['observedGeneration'] ?? 0) >= generation
  );
}

/**
 * Reports whether the drain policy differs from the wanted one. `maxGracePeriodSeconds` is not
 * compared: it may depend on the time of creation.
 */
export function isChanged({ policy }: MaintenanceRequest, wanted: DrainPolicy): boolean {
  const { maxGracePeriodSeconds: _own, ...own } = policy;
  const { maxGracePeriodSeconds: _wanted, ...other } = wanted;
  return !sameJson(own, other);
}

/** Returns the write that restores the drain policy and the level after a user has changed them. */
export function restoreChildWrite(
  child: MaintenanceRequest,
  drain: JsonObject,
  announces: readonly KubeEvent[],
): Write {
  return {
    description: 'restore the drain policy of the node',
    method: 'PATCH',
    style: 'merge',
    path: pathOf(child),
    body: {
      metadata: { resourceVersion: child.resourceVersion },
      spec: { level: 'Drain', drain: mergePatch(child.storedDrain ?? {}, drain) ?? {} },
    },
    cache: 'requests',
    adapter: child.adapter.name,
    events: announces,
  };
}

/**
 * Returns the write that sets the level: Cordon pauses the Maintenance while its node stays held,
 * Drain continues it.
 */
export function levelWrite(child: MaintenanceRequest, level: 'Cordon' | 'Drain'): Write {
  return {
    description: level === 'Cordon' ? 'pause the drain' : 'continue the drain',
    method: 'PATCH',
    style: 'merge',
    path: pathOf(child),
    body: { metadata: { resourceVersion: child.resourceVersion }, spec: { level } },
    cache: 'requests',
    adapter: child.adapter.name,
    events: [],
  };
}

/**
 * Returns the write that deletes the Maintenance of a machine or a plan: this uid only, and no
 * other object of its name.
 */
export function deleteChildWrite(child: MaintenanceRequest): Write {
  return {
    description: 'delete the maintenance of the node',
    method: 'DELETE',
    path: pathOf(child),
    body: { preconditions: { uid: child.uid } },
    cache: 'requests',
    adapter: child.adapter.name,
    events: [],
  };
}
