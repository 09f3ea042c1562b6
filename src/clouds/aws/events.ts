import type { EventKind, EventState, MachineEvent } from '../../core/machine/event.ts';
import { isBefore, timeText } from '../../core/time.ts';
import type { Ec2Event } from './ec2.ts';

const kinds: ReadonlyMap<string, EventKind> = new Map([
  ['instance-reboot', 'reboot'],
  ['system-reboot', 'reboot'],
  ['system-maintenance', 'maintenance'],
  ['instance-retirement', 'retirement'],
  ['instance-stop', 'stop'],
]);

/** One scheduled event, from the API or from the metadata service. `state` is the metadata service's: the API has none. */
export type AwsEvent = {
  readonly id?: string | undefined;
  readonly code?: string | undefined;
  readonly description?: string | undefined;
  readonly notBefore?: Temporal.Instant | undefined;
  readonly notAfter?: Temporal.Instant | undefined;
  readonly state?: string | undefined;
};

/** A finished event stays listed for up to a week with a mark before its description. */
const mark = /^\s*\[(completed|cancell?ed)\]\s*/i;

const over: Readonly<Record<string, EventState>> = { completed: 'Completed', canceled: 'Cancelled', cancelled: 'Cancelled' };

/** `active` is the metadata service's word for what is scheduled: it says nothing of whether AWS has begun. */
const stateOf = (event: AwsEvent, now: Temporal.Instant): EventState => {
  const marked = mark.exec(event.description ?? '')?.[1] ?? event.state ?? '';
  const begun = event.notBefore !== undefined && !isBefore(now, event.notBefore);
  return over[marked.toLowerCase()] ?? (begun ? 'Active' : 'Scheduled');
};

/**
 * One event of one instance. AWS may begin at NotBefore, so that is the deadline. A code that is not known counts as maintenance. Without an id
 * of AWS's own, code and NotBefore make one: then an event that is moved counts as another one.
 */
export const machineEvent = (event: AwsEvent, instance: string, source: string, now: Temporal.Instant): MachineEvent => {
  const { code = 'unknown', notBefore, notAfter } = event;
  const description = event.description?.replace(mark, '').trim();
  return {
    provider: 'aws',
    id: event.id || `${code}${notBefore === undefined ? '' : `@${timeText(notBefore)}`}`,
    kind: kinds.get(code) ?? 'maintenance',
    code,
    instance,
    ...(notBefore !== undefined && { notBefore, deadline: notBefore }),
    ...(notAfter !== undefined && { notAfter }),
    state: stateOf(event, now),
    ...(description !== undefined && description !== '' && { description }),
    source,
  };
};

const instantOf = (date: Date | undefined): Temporal.Instant | undefined =>
  date === undefined || Number.isNaN(date.getTime()) ? undefined : Temporal.Instant.fromEpochMilliseconds(date.getTime());

/** The API's spelling of an event. */
export const fromEc2 = (event: Ec2Event): AwsEvent => ({
  id: event.InstanceEventId,
  code: event.Code,
  description: event.Description,
  notBefore: instantOf(event.NotBefore),
  notAfter: instantOf(event.NotAfter),
});
