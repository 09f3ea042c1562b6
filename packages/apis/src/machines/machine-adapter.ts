import type { JsonObject } from '@drydock/apimachinery';
import type {
  AnnouncedTarget,
  EventResponse,
  EventSource,
  MachineAdapter,
  MachineEvent,
} from '@drydock/core/machine';
import { defaultStrategy, machineMaintenanceApi } from '@drydock/core/machine';
import { drainPolicy } from '../maintenance/maintenance.ts';
import { maintenanceWindowStatus, readMaintenanceWindow } from '../maintenance-window.ts';
import {
  machineEventSourceStatus,
  readMachineEventSource,
  readNodeNotice,
} from './machine-event-source.ts';
import { eventJson } from './machine-events.ts';
import { machineMaintenanceStatus, readMachineMaintenance } from './machine-maintenance.ts';

/**
 * Returns the spec with the events. The seed's two fields repeat the first event, for clients that
 * read those.
 */
function eventsSpec(events: readonly MachineEvent[]): JsonObject {
  const [first] = events;
  return {
    events: events.map(eventJson),
    ...(first && { eventcode: first.code ?? first.kind, eventid: first.id }),
  };
}

/** Returns the response of a source to these events: of several, the one for the strongest. */
function responseTo(
  events: readonly MachineEvent[],
  { responses }: EventSource,
): Omit<EventResponse, 'kinds'> {
  const leading = defaultStrategy(events);
  const byWeight = events.toSorted(
    (one, other) =>
      Number(defaultStrategy([other]) === leading) - Number(defaultStrategy([one]) === leading),
  );
  for (const { kind } of byWeight) {
    const response = responses.find(({ kinds }) => kinds.includes(kind));
    if (response !== undefined) return response;
  }
  return {};
}

function refOf({ name, machine }: AnnouncedTarget): JsonObject {
  return machine === undefined
    ? { kind: 'Node', name }
    : { apiVersion: machine.apiVersion, kind: 'Machine', namespace: machine.namespace, name };
}

const newMaintenance: MachineAdapter['newMaintenance'] = (
  target,
  { namespace, name },
  events,
  source,
) => {
  const { strategy, approval } = source ? responseTo(events, source) : {};
  return {
    apiVersion: machineMaintenanceApi,
    kind: 'MachineMaintenance',
    metadata: { namespace, name },
    spec: {
      maintenancescheduled: false,
      machineid: target.instance,
      machinelink: target.name,
      machineRef: refOf(target),
      ...eventsSpec(events),
      ...(target.nodeName !== undefined && { nodeName: target.nodeName }),
      ...(strategy !== undefined && { strategy }),
      ...(approval !== undefined && { approval }),
      ...(source !== undefined && Object.keys(source.drain).length > 0 && { drain: source.drain }),
      ...(source !== undefined && source.gates.length > 0 && { gates: source.gates }),
    },
  };
};

/** Adapter of the kinds about machines and windows, as they are served. */
export const machineAdapter: MachineAdapter = {
  readMaintenance: readMachineMaintenance,
  maintenanceStatus: machineMaintenanceStatus,
  newMaintenance,
  eventsSpec,
  drainPolicy,
  readWindow: readMaintenanceWindow,
  windowStatus: maintenanceWindowStatus,
  readSource: readMachineEventSource,
  sourceStatus: machineEventSourceStatus,
  readNotice: readNodeNotice,
};
