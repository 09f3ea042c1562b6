import { earliest } from '@drydock/apimachinery';
import type { EventKind } from '../event-kind.ts';

/**
 * Announcement by a cloud, a node or another party about one machine: one shape for all of them.
 */

/**
 * States. Scheduled: it will happen. Active: it is happening. Completed: it has happened; its
 * meaning depends on the kind (`aftermath.ts`). Cancelled: it will not happen.
 */
export const eventStates = ['Scheduled', 'Active', 'Completed', 'Cancelled'] as const;
export type EventState = (typeof eventStates)[number];

export type MachineEvent = {
  /**
   * Name of the announcing party: `aws`, `azure`, `gcp`, `node`, or the name that the sender of a
   * CloudEvent uses.
   */
  readonly provider: string;
  /**
   * Id that is unique for its machine: the provider's own, or one computed from parts that do not
   * change when the event is moved.
   */
  readonly id: string;
  readonly kind: EventKind;
  /** Code of the provider, for example `instance-stop`. */
  readonly code?: string;
  /** Name of the machine in the cloud: the last part of its providerID. */
  readonly instance?: string;
  /** Longer name, for example an ARN or a self link. */
  readonly resource?: string;
  readonly notBefore?: Temporal.Instant;
  readonly notAfter?: Temporal.Instant;
  /**
   * Time by which the machine has to be empty. The source computes it: for most clouds it is their
   * earliest start.
   */
  readonly deadline?: Temporal.Instant;
  readonly state: EventState;
  /**
   * Number of the occurrence under this id; missing for the first. An id is no occurrence: an event
   * that was over comes again under the same id.
   */
  readonly occurrence?: number;
  /**
   * Time at which its sender wrote it, by the sender's own clock: compared with other times of the
   * same sender only.
   */
  readonly announcedAt?: Temporal.Instant;
  readonly description?: string;
  /** Name of the MachineEventSource, or the agent, that has announced it. */
  readonly source: string;
};

/** Reasons why a source could not be read. */
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

/** Result of one read of a source. */
export type SourceObservation = {
  readonly source: string;
  /**
   * Machines whose events are completely known now, by instance: a machine without an entry in
   * `events` has none any more.
   */
  readonly looked: ReadonlySet<string>;
  readonly events: readonly MachineEvent[];
  /** Instances that the cloud does not know. */
  readonly unknown: readonly string[];
  /**
   * Failure of the read; events that were read all the same still count. The message includes a
   * remedy.
   */
  readonly trouble?: { readonly reason: TroubleReason; readonly message: string };
};

/** Reports whether the event is scheduled or active. */
export function isPending({ state }: Pick<MachineEvent, 'state'>): boolean {
  return state === 'Scheduled' || state === 'Active';
}

/**
 * Returns the id of one occurrence of an event: the same while it is announced, moved or begun,
 * another one if it is announced again after its end.
 */
export function occurrenceOf({
  provider,
  id,
  occurrence = 1,
}: Pick<MachineEvent, 'provider' | 'id' | 'occurrence'>): string {
  return occurrence === 1 ? `${provider} ${id}` : `${provider} ${id} ${occurrence}`;
}

/** Returns the earliest deadline of pending events. */
export function deadlineOf(events: readonly MachineEvent[]): Temporal.Instant | undefined {
  return earliest(events.filter(isPending).map(({ deadline }) => deadline));
}
