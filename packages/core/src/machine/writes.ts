import type { JsonObject, KubeEvent } from '@drydock/apimachinery';
import { pathSegment, secondsBetween, timeText, truncatedName } from '@drydock/apimachinery';
import { restoreChildWrite } from '../maintenance/decide.ts';
import { type MaintenanceRequest, maintenancesPath } from '../request/request.ts';
import type { Write } from '../write.ts';
import { urgentDeadline } from './aftermath.ts';
import { isPending } from './event.ts';
import {
  deleteMarks,
  hookName,
  hookOwner,
  type Machine,
  type MachineSet,
  preDrainPrefix,
  surgePrefix,
} from './machine.ts';
import type { MachineRequest } from './request.ts';
import {
  drainedForAnnotation,
  type MachineSnapshot,
  type Notice,
  noticesPath,
} from './snapshot.ts';

/** Writes of a machine maintenance to other objects, each guarded by the version that was read. */

export const machineMaintenanceApi = 'machinemaintenance.managed.openshift.io/v1alpha1';
export const machineMaintenancesPath = `/apis/${machineMaintenanceApi}/machinemaintenances`;
export const machineMaintenanceFinalizer = 'drydock.dev/machine-maintenance';

/** Annotation on a Maintenance: `namespace/name` of the MachineMaintenance that it is part of. */
export const parentAnnotation = 'drydock.dev/machine-maintenance';

/**
 * Annotation on a MachineMaintenance that a user, or a plan, created before anything was announced
 * about its machine: it does not end with events that were added to it.
 */
export const independentAnnotation = 'drydock.dev/independent-of-events';

export function pathOfRequest({
  namespace,
  name,
}: Pick<MachineRequest, 'namespace' | 'name'>): string {
  return `/apis/${machineMaintenanceApi}/namespaces/${pathSegment(namespace)}/machinemaintenances/${pathSegment(name)}`;
}

/** Returns an event about the machine maintenance itself. */
export function announce(
  { namespace, name, uid, resourceVersion }: MachineRequest,
  type: KubeEvent['type'],
  reason: string,
  message: string,
): KubeEvent {
  return {
    type,
    reason,
    message,
    component: 'drydock',
    about: {
      apiVersion: machineMaintenanceApi,
      kind: 'MachineMaintenance',
      namespace,
      name,
      uid,
      resourceVersion,
    },
  };
}

/** Changes the request itself. */
export function ownWrite(
  request: MachineRequest,
  what: string,
  body: JsonObject,
  announces: readonly KubeEvent[] = [],
): Write {
  const { metadata, ...rest } = body as { readonly metadata?: JsonObject };
  return {
    description: what,
    method: 'PATCH',
    style: 'merge',
    path: pathOfRequest(request),
    body: { ...rest, metadata: { ...metadata, resourceVersion: request.resourceVersion } },
    cache: 'machineMaintenances',
    events: announces,
  };
}

/** Deletes the request itself, provided that it is the one that was read. */
export function deleteRequestWrite(request: MachineRequest, what: string): Write {
  return {
    description: what,
    method: 'DELETE',
    path: pathOfRequest(request),
    body: { preconditions: { uid: request.uid } },
    cache: 'machineMaintenances',
    events: [],
  };
}

/**
 * Sets the seed's flag: before the machine is deleted, so that a restarted process knows that this
 * is intended.
 */
export function flagWrite(request: MachineRequest): Write {
  return ownWrite(request, 'record that the machine is to be deleted', {
    spec: { maintenancescheduled: true },
  });
}

function merge(
  what: string,
  object: Machine | MachineSet,
  body: JsonObject,
  store: Write['cache'],
): Write {
  const { metadata, ...rest } = body as { readonly metadata?: JsonObject };
  return {
    description: what,
    method: 'PATCH',
    style: 'merge',
    path: object.path,
    body: { ...rest, metadata: { ...metadata, resourceVersion: object.resourceVersion } },
    cache: store,
    events: [],
  };
}

/** Marks the Machine as the next to be deleted, or removes the mark. */
export function markWrite(machine: Machine, value: string | null): Write {
  return merge(
    value === null
      ? 'remove the deletion mark of the machine'
      : 'mark the machine as the next to be deleted',
    machine,
    { metadata: { annotations: { [deleteMarks[machine.api]]: value } } },
    'machines',
  );
}

function hookOfOpenShift(machine: Machine, wanted: boolean): JsonObject {
  const others = machine.preDrainHooks.filter(({ name }) => name !== hookName);
  const preDrain = wanted ? [...others, { name: hookName, owner: hookOwner }] : others;
  return { spec: { lifecycleHooks: { preDrain: preDrain.length > 0 ? preDrain : null } } };
}

/**
 * Returns the hook of Cluster API together with the mark: a set that is scaled down before it
 * observes the deletion takes the same machine.
 */
function hookOfCapi(wanted: boolean, mark: string | undefined): JsonObject {
  return {
    metadata: {
      annotations: {
        [`${preDrainPrefix}${hookName}`]: wanted ? hookOwner : null,
        ...(wanted && mark !== undefined && { [deleteMarks.capi]: mark }),
      },
    },
  };
}

/** Sets or removes the hook that keeps the machine while it is being deleted. */
export function hookWrite(machine: Machine, wanted: boolean, mark?: string): Write {
  return merge(
    wanted
      ? 'keep the machine until its replacement is ready'
      : 'remove the pre-drain hook of the machine',
    machine,
    machine.api === 'capi' ? hookOfCapi(wanted, mark) : hookOfOpenShift(machine, wanted),
    'machines',
  );
}

/**
 * Scales by one, with the record of it, in one write: there is no moment in which only one of the
 * two is stored.
 */
export function scaleWrite(set: MachineSet, request: MachineRequest, by: 1 | -1): Write {
  return merge(
    by === 1 ? 'add a machine' : 'restore the replica count',
    set,
    {
      metadata: {
        annotations: {
          [`${surgePrefix}${request.uid}`]:
            by === 1 ? `${request.namespace}/${request.name}` : null,
        },
      },
      spec: { replicas: Math.max(0, set.replicas + by) },
    },
    'machineSets',
  );
}

/**
 * Deletes the machine, provided that it has not changed since it was read: a machine that has got
 * its node meanwhile has pods that were not drained.
 */
export function deleteMachineWrite(machine: Machine, request: MachineRequest): Write {
  return {
    description: 'delete the machine',
    method: 'DELETE',
    path: machine.path,
    body: { preconditions: { uid: machine.uid, resourceVersion: machine.resourceVersion } },
    cache: 'machines',
    events: [
      announce(
        request,
        'Normal',
        'MachineDeleted',
        `Machine ${machine.namespace}/${machine.name} deleted: ${machine.api === 'openshift' ? 'its set' : 'its controller'} replaces it`,
      ),
    ],
  };
}

/** Notes for the agent of the node which events it has been drained for. */
export function drainedForWrite(notice: Notice, ids: readonly string[]): Write {
  return {
    description: 'report to the agent of the node that the node is drained',
    method: 'PATCH',
    style: 'merge',
    path: `${noticesPath}/${pathSegment(notice.key)}`,
    body: {
      metadata: {
        resourceVersion: notice.resourceVersion,
        annotations: { [drainedForAnnotation]: ids.join(',') },
      },
    },
    cache: 'nodeNotices',
    events: [],
  };
}

/**
 * Returns a name of its own for each request, whatever the machine's name is: 63 characters at
 * most. It contains the whole uid, so that no other request has the same.
 */
export function childName({ name, uid }: Pick<MachineRequest, 'name' | 'uid'>): string {
  return truncatedName(name, uid);
}

/** Describes the events in a sentence. */
export function reasonOf({ events, machineName }: MachineRequest): string {
  const pending = events.filter(isPending);
  const [event] = pending.length > 0 ? pending : events;
  if (event === undefined) return `Machine ${machineName} is to be replaced`;
  const when = event.deadline ?? event.notBefore;
  const description =
    event.description === undefined || event.description === '' ? '' : `: ${event.description}`;
  const more = pending.length > 1 ? ` and ${pending.length - 1} more` : '';
  return `${event.provider} announces ${event.code ?? event.kind}${when ? ` for ${timeText(when)}` : ''}${more}${description}`;
}

/** Seconds that are reserved for everything else when the last pod has ended. */
const spare = 10;

/**
 * Bounds the grace periods if a deadline is within minutes: no pod gets longer than what is left.
 */
function graceOf(snapshot: MachineSnapshot, now: Temporal.Instant): JsonObject {
  const deadline = urgentDeadline(snapshot, now);
  if (deadline === undefined) return {};
  return { maxGracePeriodSeconds: Math.max(1, Math.floor(secondsBetween(now, deadline)) - spare) };
}

/**
 * Returns the drain policy, except for the bound by a deadline. Everything on the machine is lost
 * with it, so local data and pods without controller do not block it.
 */
export function childDrain({ drain }: MachineRequest): JsonObject {
  return { deleteEmptyDirData: true, force: true, ...drain };
}

/** Restores the drain after a change by a user: this request determines how its node is drained. */
export function childDrainWrite(child: MaintenanceRequest, request: MachineRequest): Write {
  return restoreChildWrite(child, childDrain(request), [
    announce(
      request,
      'Warning',
      'MaintenanceChanged',
      `Somebody has changed the drain of Maintenance ${child.name}; restored`,
    ),
  ]);
}

/** Creates the Maintenance that drains the node. */
export function createChildWrite(
  snapshot: MachineSnapshot,
  nodeName: string,
  now: Temporal.Instant,
): Write {
  const { request } = snapshot;
  return {
    description: 'create the maintenance of the node',
    method: 'POST',
    path: maintenancesPath,
    body: {
      apiVersion: 'drydock.dev/v1alpha1',
      kind: 'Maintenance',
      metadata: { name: childName(request), annotations: { [parentAnnotation]: request.key } },
      spec: {
        nodeName,
        reason: reasonOf(request).slice(0, 1024),
        requester: 'drydock.dev/machine-maintenance',
        start: { windows: 'Ignore' },
        drain: { ...graceOf(snapshot, now), ...childDrain(request) },
      },
    },
    cache: 'requests',
    adapter: 'maintenances.drydock.dev',
    events: [],
  };
}
