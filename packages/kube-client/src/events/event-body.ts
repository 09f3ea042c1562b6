import type { KubeEvent } from '@drydock/apimachinery';
import { printable } from '@drydock/apimachinery';

/** Fields of an Event that the note itself does not have. */
export type EventFacts = {
  readonly name: string;
  readonly instance: string;
  readonly first: Temporal.Instant;
  readonly last: Temporal.Instant;
  readonly count: number;
};

/** Limit of a message in characters (k8s.io/kubernetes pkg/apis/core/validation/events.go). */
const maxMessageLength = 1024;
/** Limit of the object's name: of 253 characters, 17 are for the unique suffix. */
const maxObjectNameLength = 236;

/** Returns the namespace for an Event; events of cluster-scoped objects go to `default`. */
export function eventNamespace({ about }: KubeEvent): string {
  return about.namespace ?? 'default';
}

/**
 * Returns `<object>.<hex>`, as client-go names events: nanoseconds, with a random part below the
 * clock's resolution.
 */
export function eventName(
  { about }: KubeEvent,
  now: Temporal.Instant,
  random: () => number,
): string {
  return `${about.name.slice(0, maxObjectNameLength)}.${(now.epochNanoseconds + BigInt(Math.floor(random() * 1e6))).toString(16)}`;
}

/** Returns a core/v1 Event. */
export function eventBody(
  note: KubeEvent,
  { name, instance, first, last, count }: EventFacts,
): unknown {
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: eventNamespace(note) },
    involvedObject: note.about,
    type: note.type,
    reason: note.reason,
    message: shortened(printable(note.message)),
    source: { component: note.component },
    reportingComponent: note.component,
    reportingInstance: instance,
    firstTimestamp: time(first),
    lastTimestamp: time(last),
    count,
  };
}

/** Returns the JSON merge patch for a repeated event. */
export function repeatPatch(count: number, last: Temporal.Instant): unknown {
  return { count, lastTimestamp: time(last) };
}

function shortened(message: string): string {
  return message.length <= maxMessageLength
    ? message
    : `${message.slice(0, maxMessageLength - 1)}…`;
}

/** Formats a meta/v1 Time, which has whole seconds. */
function time(instant: Temporal.Instant): string {
  return instant.toString({ fractionalSecondDigits: 0 });
}
