import { printable } from '../../core/printable.ts';
import type { KubeEvent } from '../../operator/ports.ts';

/** What is not in the note itself. */
export type EventFacts = {
  readonly name: string;
  readonly instance: string;
  readonly first: Temporal.Instant;
  readonly last: Temporal.Instant;
  readonly count: number;
};

/** The API server takes so many characters of a message (k8s.io/kubernetes pkg/apis/core/validation/events.go). */
const maxMessageLength = 1024;
/** Of 253 characters of a name, 17 are for what makes it unique. */
const maxObjectNameLength = 236;

/** Events of what has no namespace lie in `default`. */
export const eventNamespace = ({ about }: KubeEvent): string => about.namespace ?? 'default';

/** `<object>.<hex>`, as client-go names them: nanoseconds, with something random where the clock does not have them. */
export const eventName = ({ about }: KubeEvent, now: Temporal.Instant, random: () => number): string =>
  `${about.name.slice(0, maxObjectNameLength)}.${(now.epochNanoseconds + BigInt(Math.floor(random() * 1e6))).toString(16)}`;

/** A core/v1 Event. */
export const eventBody = (note: KubeEvent, { name, instance, first, last, count }: EventFacts): unknown => ({
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
});

/** What changes when the same thing happens again, as a JSON merge patch. */
export const repeatPatch = (count: number, last: Temporal.Instant): unknown => ({ count, lastTimestamp: time(last) });

const shortened = (message: string): string =>
  message.length <= maxMessageLength ? message : `${message.slice(0, maxMessageLength - 1)}…`;

/** meta/v1 Time has whole seconds. */
const time = (instant: Temporal.Instant): string => instant.toString({ fractionalSecondDigits: 0 });
