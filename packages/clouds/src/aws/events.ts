import { isBefore } from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import type { EventState, MachineEvent } from '@drydock/core/machine';
import type { Ec2Event } from './client.ts';

const kinds: ReadonlyMap<string, EventKind> = new Map([
  ['instance-reboot', 'reboot'],
  ['system-reboot', 'reboot'],
  ['system-maintenance', 'maintenance'],
  ['instance-retirement', 'retirement'],
  ['instance-stop', 'stop'],
]);

/**
 * A scheduled event, from the API or from the metadata service. `state` comes from the metadata
 * service: the API has none.
 */
export type AwsEvent = {
  readonly id?: string | undefined;
  readonly code?: string | undefined;
  readonly description?: string | undefined;
  readonly notBefore?: Temporal.Instant | undefined;
  readonly notAfter?: Temporal.Instant | undefined;
  readonly state?: string | undefined;
};

const unknownCode = 'unknown';

/** Prefix in the description of a finished event, which stays listed for up to a week. */
const mark = /^\s*\[(completed|cancell?ed)\]\s*/i;

const over: Readonly<Record<string, EventState>> = {
  completed: 'Completed',
  canceled: 'Cancelled',
  cancelled: 'Cancelled',
};

/**
 * Returns the state. `active` is the metadata service's word for scheduled events: it does not mean
 * that AWS has started.
 */
function stateOf(event: AwsEvent, now: Temporal.Instant): EventState {
  const marked = mark.exec(event.description ?? '')?.[1] ?? event.state ?? '';
  const begun = event.notBefore !== undefined && !isBefore(now, event.notBefore);
  return over[marked.toLowerCase()] ?? (begun ? 'Active' : 'Scheduled');
}

function eventOf(
  event: AwsEvent,
  id: string,
  instance: string,
  source: string,
  now: Temporal.Instant,
): MachineEvent {
  const { code = unknownCode, notBefore, notAfter } = event;
  const description = event.description?.replace(mark, '').trim();
  return {
    provider: 'aws',
    id,
    kind: kinds.get(code) ?? 'maintenance',
    code,
    instance,
    ...(notBefore !== undefined && { notBefore, deadline: notBefore }),
    ...(notAfter !== undefined && { notAfter }),
    state: stateOf(event, now),
    ...(description !== undefined && description !== '' && { description }),
    source,
  };
}

/**
 * Returns the events of one instance. AWS may start at NotBefore, so that is the deadline. An
 * unknown code counts as maintenance. An event without an id of AWS's own gets its code as id, the
 * second of a kind (by time) `code-2`: neither changes when the event is moved or over.
 */
export function machineEvents(
  events: readonly AwsEvent[],
  instance: string,
  source: string,
  now: Temporal.Instant,
): readonly MachineEvent[] {
  const begins = ({ notBefore }: AwsEvent): number => notBefore?.epochMilliseconds ?? Infinity;
  const nameless = events
    .filter(({ id = '' }) => id === '')
    .sort((one, other) => (begins(one) < begins(other) ? -1 : 1));
  const named = (event: AwsEvent): string => {
    const { code = unknownCode } = event;
    const nth =
      nameless.filter(({ code: other = unknownCode }) => other === code).indexOf(event) + 1;
    return nth <= 1 ? code : `${code}-${nth}`;
  };
  return events.map(event => eventOf(event, event.id || named(event), instance, source, now));
}

function instantOf(date: Date | undefined): Temporal.Instant | undefined {
  return date === undefined || Number.isNaN(date.getTime())
    ? undefined
    : Temporal.Instant.fromEpochMilliseconds(date.getTime());
}

/** Converts an event of the API. */
export function fromEc2(event: Ec2Event): AwsEvent {
  return {
    id: event.InstanceEventId,
    code: event.Code,
    description: event.Description,
    notBefore: instantOf(event.NotBefore),
    notAfter: instantOf(event.NotAfter),
  };
}
