import { isObject, type JsonObject, timeText } from '@drydock/apimachinery';
import {
  type AnnouncedTarget,
  defaultStrategy,
  drainedForAnnotation,
  type EventResponse,
  type EventSource,
  type MachineAdapter,
  type MachineEvent,
  machineMaintenanceApi,
  type Notice,
  type ScanResult,
  type Signal,
} from '@drydock/core/machine';
import { drainPolicy } from '../maintenance/maintenance.ts';
import { maintenanceWindowStatus, readMaintenanceWindow } from '../maintenance-window.ts';
import { type NewCondition, type RawMetadata, withTransitions } from '../read.ts';
import type {
  MachineEventSourceSpec,
  MachineEventSourceStatus,
  NodeNoticeSpec,
} from '../schema/machine-maintenance.ts';
import {
  eventJson,
  machineMaintenanceStatus,
  readEvent,
  readMachineMaintenance,
} from './machine-maintenance.ts';

/** drydock.dev/v1alpha1 MachineEventSource and NodeNotice. */

/** Seconds between two scans by default: an hour, as in the replaced operator. */
const defaultInterval = 3600;

/** Number of names in a status. */
const maxNames = 20;

function awsOf({ aws }: MachineEventSourceSpec): Pick<EventSource, 'aws'> {
  if (aws === undefined) return {};
  const { region, credentialsSecret, endpoint, intervalSeconds = defaultInterval } = aws;
  return {
    aws: {
      intervalSeconds,
      ...(region !== undefined && { region }),
      ...(credentialsSecret && { credentialsSecret }),
      ...(endpoint !== undefined && { endpoint }),
    },
  };
}

/** Reads a MachineEventSource; the API server has validated it. */
function readMachineEventSource(raw: unknown): EventSource {
  const {
    metadata,
    spec = {},
    status,
  } = raw as {
    readonly metadata: RawMetadata;
    readonly spec?: MachineEventSourceSpec;
    readonly status?: JsonObject;
  };
  return {
    key: metadata.name,
    name: metadata.name,
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion,
    generation: metadata.generation ?? 0,
    ...awsOf(spec),
    signals: (spec.signals ?? []) as readonly Signal[],
    presets: spec.presets ?? [],
    responses: (spec.responses ?? []) as EventSource['responses'],
    urgency: spec.urgency ?? 'Heeded',
    drain: isObject(spec.drain) ? spec.drain : {},
    gates: spec.gates ?? [],
    status: status ?? {},
  };
}

function conditions({
  trouble,
  unknown,
  withoutProviderId,
  nextAt,
}: ScanResult): readonly NewCondition[] {
  const strangers = [
    ...unknown.map(id => `${id} is unknown to the cloud`),
    ...withoutProviderId.map(name => `Machine ${name} has no providerID`),
  ];
  return [
    trouble
      ? {
          type: 'Ready',
          status: 'False',
          reason: trouble.reason,
          message: trouble.message.slice(0, 4096),
        }
      : {
          type: 'Ready',
          status: 'True',
          reason: nextAt === undefined ? 'Followed' : 'Scanned',
          message: '',
        },
    strangers.length > 0
      ? {
          type: 'MachinesKnown',
          status: 'False',
          reason: unknown.length > 0 ? 'InstanceUnknown' : 'NoProviderID',
          message: strangers.slice(0, maxNames).join('; '),
        }
      : { type: 'MachinesKnown', status: 'True', reason: 'AllKnown', message: '' },
  ];
}

/** Returns the status after a scan. */
function machineEventSourceStatus(source: EventSource, result: ScanResult): JsonObject {
  const stored = source.status as MachineEventSourceStatus;
  const { at, nextAt, machines, pending, unknown, withoutProviderId, trouble } = result;
  return {
    observedGeneration: source.generation,
    lastScanTime: timeText(at),
    nextScanTime: nextAt && timeText(nextAt),
    machines,
    events: pending,
    unknownMachines: unknown.length > 0 ? unknown.slice(0, maxNames) : undefined,
    withoutProviderID:
      withoutProviderId.length > 0 ? withoutProviderId.slice(0, maxNames) : undefined,
    trouble: trouble?.reason,
    conditions: withTransitions(conditions(result), stored.conditions, source.generation, at),
  } satisfies { readonly [Field in keyof MachineEventSourceStatus]: unknown };
}

/** Reads a NodeNotice; the API server has validated it. */
function readNodeNotice(raw: unknown): Notice {
  const { metadata, spec } = raw as {
    readonly metadata: RawMetadata;
    readonly spec: NodeNoticeSpec;
  };
  const { name: key, uid, resourceVersion, annotations } = metadata;
  const drainedFor = annotations?.[drainedForAnnotation] ?? '';
  return {
    key,
    uid,
    resourceVersion,
    provider: spec.provider,
    instance: spec.instance,
    events: spec.events.map(readEvent),
    incomplete: spec.trouble !== undefined,
    drainedFor: drainedFor === '' ? [] : drainedFor.split(','),
  };
}

/** Returns the NodeNotice with these contents. */
export function nodeNotice(
  nodeName: string,
  observation: {
    readonly provider: string;
    readonly instance: string;
    readonly events: readonly MachineEvent[];
    readonly trouble?: { readonly reason: string; readonly message: string };
  },
  now: Temporal.Instant,
): JsonObject {
  return {
    apiVersion: 'drydock.dev/v1alpha1',
    kind: 'NodeNotice',
    metadata: { name: nodeName },
    spec: {
      provider: observation.provider,
      instance: observation.instance,
      observedTime: timeText(now),
      events: observation.events.map(eventJson),
      ...(observation.trouble && { trouble: observation.trouble }),
    },
  };
}

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
