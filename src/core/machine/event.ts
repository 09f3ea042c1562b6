import type { EventKind } from '../event-kind.ts';
import { earliest } from '../time.ts';

/** What a cloud, a node or anybody else announces about one machine: one shape for all of them. */

/** Scheduled: it will happen. Active: it is happening. Completed: it has happened; what that means is said by its kind (`aftermath.ts`). Cancelled: it will not. */
export const eventStates = ['Scheduled', 'Active', 'Completed', 'Cancelled'] as const;
export type EventState = (typeof eventStates)[number];

export type MachineEvent = {
  /** Whose word it is: `aws`, `azure`, `gcp`, `node`, or what the sender of a CloudEvent calls itself. */
  readonly provider: string;
  /** Unique for its machine: the provider's own id, or one made of what does not change when the event is moved. */
  readonly id: string;
  readonly kind: EventKind;
  /** The provider's own word, for example `instance-stop`. */
  readonly code?: string;
  /** The machine as the cloud calls it: the last part of its providerID. */
  readonly instance?: string;
  /** A fuller name, for example an ARN or a self link. */
  readonly resource?: string;
  readonly notBefore?: Temporal.Instant;
  readonly notAfter?: Temporal.Instant;
  /** By then the machine has to be empty. The source works it out: for most clouds it is when they may begin. */
  readonly deadline?: Temporal.Instant;
  readonly state: EventState;
  /** Which time it is that this id is announced; missing for the first. An id is no occurrence: what was over comes again under the same one. */
  readonly occurrence?: number;
  /** When its sender wrote it, by the sender's own clock: compared with other times of the same sender only. */
  readonly toldAt?: Temporal.Instant;
  readonly description?: string;
  /** The MachineEventSource, or the agent, that has told it. */
  readonly source: string;
};

/** Words for why a source could not be read. */
export const troubleReasons = [
  'CredentialsMissing',
  'CredentialsExpired',
  'CredentialsRefused',
  'NotAuthorized',
  'ClockSkew',
  'Throttled',
  'Unreachable',
  'RegionUnknown',
  'EndpointNotAllowed',
  'Failed',
] as const;
export type TroubleReason = (typeof troubleReasons)[number];

/** What one look at a source has shown. */
export type SourceObservation = {
  readonly source: string;
  /** Machines whose events are completely known now, by instance: one that is not among `events` has none any more. */
  readonly looked: ReadonlySet<string>;
  readonly events: readonly MachineEvent[];
  /** Instances that the cloud does not know. */
  readonly unknown: readonly string[];
  /** What went wrong; what was seen all the same still counts. The message says what to do. */
  readonly trouble?: { readonly reason: TroubleReason; readonly message: string };
};

/** It still has to be reckoned with. */
export const isPending = ({ state }: Pick<MachineEvent, 'state'>): boolean => state === 'Scheduled' || state === 'Active';

/** One occurrence of an event: the same for as long as it is announced, moved or begun, another once it was over and is announced again. */
export const occurrenceOf = ({ provider, id, occurrence = 1 }: Pick<MachineEvent, 'provider' | 'id' | 'occurrence'>): string =>
  occurrence === 1 ? `${provider} ${id}` : `${provider} ${id} ${occurrence}`;

/** The earliest deadline of those that still have to be reckoned with. */
export const deadlineOf = (events: readonly MachineEvent[]): Temporal.Instant | undefined =>
  earliest(events.filter(isPending).map(({ deadline }) => deadline));
