import { isObject, type JsonObject, timeText } from '@drydock/apimachinery';
import type { MachineEvent } from '@drydock/core/machine';
import {
  drainedForAnnotation,
  type EventSource,
  type Notice,
  type ScanResult,
  type Signal,
} from '@drydock/core/machine';
import { type SaidCondition, withTransitions } from '../conditions.ts';
import type { RawMetadata } from '../read.ts';
import type {
  MachineEventSourceSpec,
  MachineEventSourceStatus,
  NodeNoticeSpec,
} from '../schema/machine-event-source.ts';
import { eventJson, readEvent } from './machine-events.ts';

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
export function readMachineEventSource(raw: unknown): EventSource {
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
}: ScanResult): readonly SaidCondition[] {
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
export function machineEventSourceStatus(source: EventSource, result: ScanResult): JsonObject {
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
export function readNodeNotice(raw: unknown): Notice {
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
  said: {
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
      provider: said.provider,
      instance: said.instance,
      observedTime: timeText(now),
      events: said.events.map(eventJson),
      ...(said.trouble && { trouble: said.trouble }),
    },
  };
}
