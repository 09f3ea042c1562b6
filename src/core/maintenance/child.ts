import { type JsonObject, mergePatch, sameJson } from '../json.ts';
import type { DrainPolicy } from '../request/policy.ts';
import { type MaintenanceRequest, pathOf } from '../request/request.ts';
import type { KubeEvent, Write } from '../write.ts';

/** Maintenances that were made for a machine or by a plan. They are believed only where they are what their maker wrote. */

/** Whether its node was drained as it is told to drain it now: all the way, by the spec that the status speaks of. */
export const isDrained = ({ history, stage, status, generation }: MaintenanceRequest): boolean =>
  history.state === 'Drained' && stage === 'Drain' && Number(status['observedGeneration'] ?? 0) >= generation;

/** Whether it drains in another way than its maker wants: in more than how long a pod gets, which may depend on when it was made. */
export const isChanged = ({ policy }: MaintenanceRequest, wanted: DrainPolicy): boolean => {
  const { maxGracePeriodSeconds: _own, ...own } = policy;
  const { maxGracePeriodSeconds: _wanted, ...other } = wanted;
  return !sameJson(own, other);
};

/** Puts back what somebody has changed of its drain and its stage. */
export const restoreChildWrite = (child: MaintenanceRequest, drain: JsonObject, announces: readonly KubeEvent[]): Write => ({
  description: 'restore the drain policy of the node',
  method: 'PATCH',
  style: 'merge',
  path: pathOf(child),
  body: {
    metadata: { resourceVersion: child.resourceVersion },
    spec: { stage: 'Drain', drain: mergePatch(child.storedDrain ?? {}, drain) ?? {} },
  },
  cache: 'requests',
  adapter: child.adapter.name,
  events: announces,
});

/** How far the Maintenance is to go: Cordon pauses it, and its node stays held. */
export const stageWrite = (child: MaintenanceRequest, stage: 'Cordon' | 'Drain'): Write => ({
  description: stage === 'Cordon' ? 'pause the drain' : 'continue the drain',
  method: 'PATCH',
  style: 'merge',
  path: pathOf(child),
  body: { metadata: { resourceVersion: child.resourceVersion }, spec: { stage } },
  cache: 'requests',
  adapter: child.adapter.name,
  events: [],
});

/** Deletes the Maintenance that was made for a machine or by a plan: this one, and no other of its name. */
export const deleteChildWrite = (child: MaintenanceRequest): Write => ({
  description: 'delete the maintenance of the node',
  method: 'DELETE',
  path: pathOf(child),
  body: { preconditions: { uid: child.uid } },
  cache: 'requests',
  adapter: child.adapter.name,
  events: [],
});
