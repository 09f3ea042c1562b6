import { isObject, type JsonObject, own, readTime, timeText } from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import {
  areOver,
  childName,
  deadlineFor,
  independentAnnotation,
  isOver,
  type MachineDecision,
  type MachineEvent,
  type MachineHistory,
  type MachinePhase,
  type MachineRequest,
  type MachineSnapshot,
  occurrenceOf,
} from '@drydock/core/machine';
import { planAnnotation } from '@drydock/core/plan';
import { type NewCondition, type RawMetadata, withTransitions } from '../read.ts';
import type {
  MachineMaintenanceSpec,
  MachineMaintenanceStatus,
  RawMachineEvent,
} from '../schema/machine-maintenance.ts';

/** Announcements in the form of the API. */

/** Characters that the CRD allows. */
const maxDescriptionLength = 4096;

const times = [
  ['notBefore', 'notBefore'],
  ['notAfter', 'notAfter'],
  ['deadline', 'deadline'],
  ['announcedTime', 'announcedAt'],
] as const;

/** Reads an event; the API server has validated it. */
export function readEvent(raw: RawMachineEvent): MachineEvent {
  const { notBefore: _from, notAfter: _to, deadline: _by, announcedTime: _told, ...rest } = raw;
  const read = times
    .map(([field, name]) => [name, readTime(raw[field])] as const)
    .filter(([, at]) => at !== undefined);
  return {
    ...(rest as Omit<MachineEvent, (typeof times)[number][1]>),
    ...Object.fromEntries(read),
  };
}

/** Returns the event as JSON, always in the same order of keys. */
export function eventJson({
  notBefore,
  notAfter,
  deadline,
  announcedAt,
  ...event
}: MachineEvent): JsonObject {
  return {
    ...event,
    ...(event.description !== undefined && {
      description: event.description.slice(0, maxDescriptionLength),
    }),
    ...(notBefore && { notBefore: timeText(notBefore) }),
    ...(notAfter && { notAfter: timeText(notAfter) }),
    ...(deadline && { deadline: timeText(deadline) }),
    // With all digits: two reports of the same second have an order as well.
    ...(announcedAt && { announcedTime: announcedAt.toString() }),
  };
}

const codes: Readonly<Record<string, EventKind>> = {
  'instance-reboot': 'reboot',
  'system-reboot': 'reboot',
  'system-maintenance': 'maintenance',
  'instance-retirement': 'retirement',
  'instance-stop': 'stop',
};

/**
 * Returns the event of an object that the replaced operator created: it kept code and id only.
 * Undefined if it kept none.
 */
function eventOfSeed(
  code: string | undefined,
  id: string | undefined,
  instance: string,
): MachineEvent | undefined {
  const kind = own(codes, code ?? '');
  if (code === undefined || kind === undefined) return undefined;
  return {
    provider: 'aws',
    id: id === undefined || id === '' ? code : id,
    kind,
    code,
    instance,
    state: 'Scheduled',
    source: 'machine-maintenance-operator',
  };
}

/**
 * machinemaintenance.managed.openshift.io/v1alpha1 MachineMaintenance: objects of the replaced
 * operator are read with the meaning that they had for it.
 */

/** Number of transitions that are kept. */
const maxHistory = 30;

/** Seconds for which a finished object is kept: three days. */
const keepSeconds = 259_200;

const approvedAnnotation = 'drydock.dev/approved';

type Raw = {
  readonly metadata: RawMetadata;
  readonly spec?: Partial<MachineMaintenanceSpec>;
  readonly status?: MachineMaintenanceStatus;
};

function historyOf(status: MachineMaintenanceStatus): MachineHistory {
  const startedAt = readTime(status.startTime);
  const completedAt = readTime(status.completionTime);
  const drainedAt = readTime(status.drainedTime);
  const eventsEndedAt = readTime(status.eventsEndTime);
  return {
    becauseOfDeadline: status.beganForDeadline ?? false,
    handled: new Set(status.handledEvents),
    ...(status.phase && { phase: status.phase }),
    ...(startedAt && { startedAt }),
    ...(drainedAt && { drainedAt }),
    ...(eventsEndedAt && { eventsEndedAt }),
    ...(completedAt && { completedAt }),
    ...(startedAt && status.strategy && { strategy: status.strategy }),
    ...(status.set !== undefined && { set: status.set }),
    ...(status.machineUID !== undefined && { machineUid: status.machineUID }),
    ...(status.nodeName !== undefined && { nodeName: status.nodeName }),
    ...(status.bootID !== undefined && { bootId: status.bootID }),
  };
}

function eventsOf({
  events,
  eventcode,
  eventid,
  machineid = '',
}: Partial<MachineMaintenanceSpec>): MachineRequest['events'] {
  if (events !== undefined && events.length > 0) return events.map(readEvent);
  const event = eventOfSeed(eventcode, eventid, machineid);
  return event === undefined ? [] : [event];
}

function timesOf({
  notBefore,
  deadline,
}: Partial<MachineMaintenanceSpec>): Pick<MachineRequest, 'notBefore' | 'deadline'> {
  const [from, by] = [readTime(notBefore), readTime(deadline)];
  return { ...(from && { notBefore: from }), ...(by && { deadline: by }) };
}

/** Reads an object of this kind; a string is the reason why it is invalid. */
export function readMachineMaintenance(raw: unknown): MachineRequest | string {
  const { metadata, spec = {}, status = {} } = raw as Raw;
  const { machinelink = '', machineRef: ref } = spec;
  const machineName = ref?.name ?? machinelink;
  if (machineName === '') return 'spec.machinelink is empty: name the machine';
  const nodeOnly = ref?.kind === 'Node';
  const nodeName = nodeOnly ? machineName : spec.nodeName;
  const events = eventsOf(spec);
  const { name, namespace = '', uid, resourceVersion } = metadata;
  const plan = metadata.annotations?.[planAnnotation];
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    uid,
    resourceVersion,
    generation: metadata.generation ?? 0,
    createdAt: readTime(metadata.creationTimestamp) ?? Temporal.Instant.fromEpochMilliseconds(0),
    deleting: metadata.deletionTimestamp !== undefined,
    finalizers: metadata.finalizers ?? [],
    deletionIssued: spec.maintenancescheduled === true,
    machineName,
    instance: spec.machineid ?? '',
    nodeOnly,
    events,
    independent: events.length === 0 || metadata.annotations?.[independentAnnotation] === 'true',
    ...timesOf(spec),
    needsApproval: spec.approval === 'Required',
    approved: spec.approved === true || metadata.annotations?.[approvedAnnotation] === 'true',
    gates: spec.gates ?? [],
    drain: isObject(spec.drain) ? spec.drain : {},
    keepSeconds: spec.keepSeconds ?? keepSeconds,
    history: historyOf(status),
    status: isObject(status) ? status : {},
    ...(spec.strategy && { strategy: spec.strategy }),
    ...(ref?.namespace !== undefined && { machineNamespace: ref.namespace }),
    ...(nodeName !== undefined && { nodeName }),
    ...(plan !== undefined && { plan }),
  };
}

const afterDrain: readonly MachinePhase[] = ['Drained', 'Replacing', 'Releasing', 'Succeeded'];

function saidOf(
  { phase, reason, message, warning }: MachineDecision,
  { needsApproval, approved }: MachineRequest,
  drained: boolean,
): readonly NewCondition[] {
  return [
    ...(needsApproval
      ? [
          {
            type: 'Approved',
            status: approved ? 'True' : 'False',
            reason: approved ? 'Approved' : 'NotApproved',
            message: '',
          } as const,
        ]
      : []),
    {
      type: 'Stalled',
      status: warning ? 'True' : 'False',
      reason: warning ? reason : 'NotStalled',
      message: warning ? message : '',
    },
    {
      type: 'Drained',
      status: drained ? 'True' : 'False',
      reason: drained ? 'Drained' : 'NotDrained',
      message: '',
    },
    {
      type: 'Completed',
      status: isOver(phase) ? 'True' : 'False',
      reason: isOver(phase) ? reason : phase,
      message: isOver(phase) ? message : '',
    },
  ];
}

function startOf(
  verdict: MachineDecision,
  stored: MachineMaintenanceStatus,
  { request, machine }: MachineSnapshot,
  now: Temporal.Instant,
): MachineMaintenanceStatus {
  const { begins, restarts } = verdict;
  if (restarts) return {};
  if (begins !== undefined) {
    return {
      startTime: timeText(now),
      strategy: begins.strategy,
      maintenanceName: childName(request),
      ...(begins.becauseOfDeadline && { beganForDeadline: true }),
      ...(begins.set !== undefined && { set: begins.set }),
      ...(begins.machineUid !== undefined && { machineUID: begins.machineUid }),
      ...(begins.nodeName !== undefined && { nodeName: begins.nodeName }),
      ...(begins.bootId !== undefined && { bootID: begins.bootId }),
      // The work continued with another strategy: the node is still empty.
      ...(stored.drainedTime !== undefined && { drainedTime: stored.drainedTime }),
    };
  }
  const {
    startTime,
    strategy,
    maintenanceName,
    beganForDeadline,
    set,
    machineUID,
    bootID,
    drainedTime,
  } = stored;
  // A machine may get its node after the work has begun: the Maintenance of that node is found by
  // it when the machine is gone.
  const nodeName = stored.nodeName ?? (startTime === undefined ? undefined : machine?.nodeName);
  return Object.fromEntries(
    Object.entries({
      startTime,
      strategy,
      maintenanceName,
      beganForDeadline,
      set,
      machineUID,
      nodeName,
      bootID,
      drainedTime,
    }).filter(([, value]) => value !== undefined),
  );
}

function recordsOf(
  { phase, reason, message }: MachineDecision,
  stored: MachineMaintenanceStatus,
  now: Temporal.Instant,
) {
  const { history = [] } = stored;
  if (stored.phase === phase && stored.waitingFor === reason) return history;
  return [
    ...history,
    { time: timeText(now), phase, reason, message: message.slice(0, 1024) },
  ].slice(-maxHistory);
}

/** Returns the status for a decision. Times are whole seconds, UTC. */
export function machineMaintenanceStatus(
  verdict: MachineDecision,
  snapshot: MachineSnapshot,
  now: Temporal.Instant,
): JsonObject {
  const { request } = snapshot;
  const stored = request.status as MachineMaintenanceStatus;
  const { phase, reason, message, startsAt } = verdict;
  const over = isOver(phase);
  const start = startOf(verdict, stored, snapshot, now);
  const isDrained =
    start.startTime !== undefined &&
    (afterDrain.includes(phase) || start.drainedTime !== undefined) &&
    phase !== 'Cancelled';
  const deadline = deadlineFor(snapshot);
  const status = {
    phase,
    waitingFor: over ? undefined : reason,
    message,
    observedGeneration: request.generation,
    ...start,
    drainedTime: isDrained ? (start.drainedTime ?? timeText(now)) : undefined,
    scheduledTime: startsAt && timeText(startsAt),
    eventsEndTime:
      request.events.length > 0 && areOver(snapshot)
        ? (stored.eventsEndTime ?? timeText(now))
        : undefined,
    deadline: deadline && timeText(deadline),
    completionTime: over ? (stored.completionTime ?? timeText(now)) : undefined,
    handledEvents: over ? request.events.map(occurrenceOf) : stored.handledEvents,
    history: recordsOf(verdict, stored, now),
    conditions: withTransitions(
      saidOf(verdict, request, isDrained),
      stored.conditions,
      request.generation,
      now,
    ),
  } satisfies { readonly [Field in keyof MachineMaintenanceStatus]: unknown };
  return status;
}
