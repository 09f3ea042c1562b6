import { truncatedName } from '../child-name.ts';
import type { JsonObject } from '../json.ts';
import { restoreChildWrite } from '../maintenance/child.ts';
import { type MaintenanceRequest, maintenancesPath } from '../request/request.ts';
import { secondsBetween, timeText } from '../time.ts';
import type { KubeEvent, Write } from '../write.ts';
import { isPending } from './event.ts';
import { deleteMarks, hookName, hookOwner, type Machine, type MachineSet, preDrainPrefix, surgePrefix } from './machine.ts';
import type { MachineRequest } from './request.ts';
import type { MachineSnapshot } from './snapshot.ts';
import { drainedForAnnotation, type Notice, noticesPath } from './source.ts';
import { urgentDeadline } from './urgency.ts';

/** The changes that a machine maintenance makes of other objects, each guarded by what was seen. */

export const machineMaintenanceApi = 'machinemaintenance.managed.openshift.io/v1alpha1';
export const machineMaintenancesPath = `/apis/${machineMaintenanceApi}/machinemaintenances`;
export const machineMaintenanceFinalizer = 'drydock.dev/machine-maintenance';

/** On a Maintenance: `namespace/name` of the MachineMaintenance that it is part of. */
export const parentAnnotation = 'drydock.dev/machine-maintenance';

/** On a MachineMaintenance that somebody, or a plan, made before anything was announced about its machine: it does not end with events that were added to it. */
export const independentAnnotation = 'drydock.dev/independent-of-events';

export const pathOfRequest = ({ namespace, name }: Pick<MachineRequest, 'namespace' | 'name'>): string =>
  `/apis/${machineMaintenanceApi}/namespaces/${encodeURIComponent(namespace)}/machinemaintenances/${encodeURIComponent(name)}`;

/** An event about the machine maintenance itself. */
export const announce = (
  { namespace, name, uid, resourceVersion }: MachineRequest,
  type: KubeEvent['type'],
  reason: string,
  message: string,
): KubeEvent => ({
  type,
  reason,
  message,
  component: 'drydock',
  about: { apiVersion: machineMaintenanceApi, kind: 'MachineMaintenance', namespace, name, uid, resourceVersion },
});

/** A change of the request itself. */
export const ownWrite = (request: MachineRequest, what: string, body: JsonObject, announces: readonly KubeEvent[] = []): Write => {
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
};

/** Deletes the request itself, as long as it is the one that was seen. */
export const deleteRequestWrite = (request: MachineRequest, what: string): Write => ({
  description: what,
  method: 'DELETE',
  path: pathOfRequest(request),
  body: { preconditions: { uid: request.uid } },
  cache: 'machineMaintenances',
  events: [],
});

/** The seed's flag: set before the machine goes, so that who starts anew knows that it is meant to. */
export const flagWrite = (request: MachineRequest): Write =>
  ownWrite(request, 'record that the machine is to be deleted', { spec: { maintenancescheduled: true } });

const merge = (what: string, object: Machine | MachineSet, body: JsonObject, store: Write['cache']): Write => {
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
};

/** Puts the Machine first in line, or takes it out of the line. */
export const markWrite = (machine: Machine, value: string | null): Write =>
  merge(
    value === null ? 'remove the deletion mark of the machine' : 'mark the machine as the next to be deleted',
    machine,
    { metadata: { annotations: { [deleteMarks[machine.api]]: value } } },
    'machines',
  );

const hookOfOpenShift = (machine: Machine, wanted: boolean): JsonObject => {
  const others = machine.preDrainHooks.filter(({ name }) => name !== hookName);
  const preDrain = wanted ? [...others, { name: hookName, owner: hookOwner }] : others;
  return { spec: { lifecycleHooks: { preDrain: preDrain.length > 0 ? preDrain : null } } };
};

/** Where Cluster API has the hook, the mark goes with it: a set that is made smaller before it knows of the deletion takes the same machine. */
const hookOfCapi = (wanted: boolean, mark: string | undefined): JsonObject => ({
  metadata: {
    annotations: {
      [`${preDrainPrefix}${hookName}`]: wanted ? hookOwner : null,
      ...(wanted && mark !== undefined && { [deleteMarks.capi]: mark }),
    },
  },
});

/** With or without the hook that keeps the machine whole while it is being deleted. */
export const hookWrite = (machine: Machine, wanted: boolean, mark?: string): Write =>
  merge(
    wanted ? 'keep the machine until its replacement is ready' : 'remove the pre-drain hook of the machine',
    machine,
    machine.api === 'capi' ? hookOfCapi(wanted, mark) : hookOfOpenShift(machine, wanted),
    'machines',
  );

/** One machine more or less, with the record of it, in one write: there is no moment in which only one of them is so. */
export const scaleWrite = (set: MachineSet, request: MachineRequest, by: 1 | -1): Write =>
  merge(
    by === 1 ? 'add a machine' : 'restore the replica count',
    set,
    {
      metadata: { annotations: { [`${surgePrefix}${request.uid}`]: by === 1 ? `${request.namespace}/${request.name}` : null } },
      spec: { replicas: Math.max(0, set.replicas + by) },
    },
    'machineSets',
  );

/** Deletes the machine, as long as it is as it was seen: one that has got its node meanwhile has pods that nobody has moved. */
export const deleteMachineWrite = (machine: Machine, request: MachineRequest): Write => ({
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
});

/** Notes for the agent of the node what it has been drained for. */
export const drainedForWrite = (notice: Notice, ids: readonly string[]): Write => ({
  description: 'report to the agent of the node that the node is drained',
  method: 'PATCH',
  style: 'merge',
  path: `${noticesPath}/${encodeURIComponent(notice.key)}`,
  body: { metadata: { resourceVersion: notice.resourceVersion, annotations: { [drainedForAnnotation]: ids.join(',') } } },
  cache: 'nodeNotices',
  events: [],
});

/** A name of its own for each request, however the machine is called: 63 characters at most. The uid is whole, so that no other request has the same. */
export const childName = ({ name, uid }: Pick<MachineRequest, 'name' | 'uid'>): string => truncatedName(name, uid);

/** What the events are, in a sentence. */
export const reasonOf = ({ events, machineName }: MachineRequest): string => {
  const pending = events.filter(isPending);
  const [event] = pending.length > 0 ? pending : events;
  if (event === undefined) return `Machine ${machineName} is to be replaced`;
  const when = event.deadline ?? event.notBefore;
  const description = event.description === undefined || event.description === '' ? '' : `: ${event.description}`;
  const more = pending.length > 1 ? ` and ${pending.length - 1} more` : '';
  return `${event.provider} announces ${event.code ?? event.kind}${when ? ` for ${timeText(when)}` : ''}${more}${description}`;
};

/** Seconds that are left for everything else when the last pod has ended. */
const spare = 10;

/** By a deadline within minutes, no pod gets longer to end than there is. */
const graceOf = (snapshot: MachineSnapshot, now: Temporal.Instant): JsonObject => {
  const deadline = urgentDeadline(snapshot, now);
  if (deadline === undefined) return {};
  return { maxGracePeriodSeconds: Math.max(1, Math.floor(secondsBetween(now, deadline)) - spare) };
};

/** How the node is emptied, but for what a deadline adds. What is on the machine goes with it, so local data and pods without controller do not keep it. */
export const childDrain = ({ drain }: MachineRequest): JsonObject => ({ deleteEmptyDirData: true, force: true, ...drain });

/** What somebody has changed of the drain is put back: this request says how its node is emptied. */
export const childDrainWrite = (child: MaintenanceRequest, request: MachineRequest): Write =>
  restoreChildWrite(child, childDrain(request), [
    announce(request, 'Warning', 'MaintenanceChanged', `Somebody has changed the drain of Maintenance ${child.name}; restored`),
  ]);

/** Creates the Maintenance that drains the node. */
export const createChildWrite = (snapshot: MachineSnapshot, nodeName: string, now: Temporal.Instant): Write => {
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
};
