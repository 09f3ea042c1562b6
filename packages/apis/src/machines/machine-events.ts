import { type JsonObject, own, readTime, timeText } from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import type { MachineEvent } from '@drydock/core/machine';
import type { RawMachineEvent } from '../schema/machine-maintenance.ts';

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
export function eventOfSeed(
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
