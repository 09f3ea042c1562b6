import { earliest, isBefore } from '@drydock/apimachinery';
import type { EventKind } from '../event-kind.ts';
import type { Machine, MachineCluster, MachineSet } from './machine.ts';

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

/** Update of the events of a machine after a source was read again. */

/**
 * Returns the id of an event. Two sources of one cloud announce the same event under the same id:
 * its API and the metadata service of the machine.
 */
function idOf({ provider, id }: MachineEvent): string {
  return `${provider} ${id}`;
}

const progress: Readonly<Record<EventState, number>> = {
  Scheduled: 0,
  Active: 1,
  Completed: 2,
  Cancelled: 2,
};

/**
 * Reports whether this is a copy of an earlier announcement of the same sender, by the sender's
 * clock: transports keep no order. Announcements without a time count in the order of their
 * arrival.
 */
function isLate(
  { announcedAt: before }: MachineEvent,
  { announcedAt, state }: MachineEvent,
  isOver: boolean,
): boolean {
  if (before === undefined || announcedAt === undefined) return false;
  // Of two that were written at the same time, the one that ends the event is the later one.
  return (
    isBefore(announcedAt, before) ||
    (isOver && isPending({ state }) && !isBefore(before, announcedAt))
  );
}

/** Returns the event with its new announcement, and the fields that are remembered of it. */
function takenOver(
  { occurrence, announcedAt }: MachineEvent,
  announced: MachineEvent,
): MachineEvent {
  return {
    ...announced,
    ...(occurrence !== undefined && { occurrence }),
    ...(announcedAt !== undefined && announced.announcedAt === undefined && { announcedAt }),
  };
}

function reopen(known: MachineEvent, announced: MachineEvent): MachineEvent {
  return {
    ...takenOver(known, announced),
    occurrence: (known.occurrence ?? 1) + 1,
  };
}

/**
 * Returns the updated event. The first source decides; an announcement of another source counts
 * only if it is further on: one of the two always lags behind. If the source that ended an event
 * announces it again, that is another occurrence.
 */
function updated(known: MachineEvent, announced: MachineEvent): MachineEvent {
  if (known.source !== announced.source)
    return progress[announced.state] > progress[known.state]
      ? { ...known, state: announced.state }
      : known;
  const isOver = !isPending(known);
  if (isLate(known, announced, isOver)) return known;
  return isOver && isPending(announced) ? reopen(known, announced) : takenOver(known, announced);
}

/**
 * Closes an event that disappears from its source: a due one has happened, any other was cancelled.
 */
function closeMissingEvent(event: MachineEvent, now: Temporal.Instant): MachineEvent {
  if (!isPending(event)) return event;
  const due =
    event.state === 'Active' || (event.notBefore !== undefined && !isBefore(now, event.notBefore));
  const state: EventState = due ? 'Completed' : 'Cancelled';
  return { ...event, state };
}

/**
 * Reports whether it is the same event as another source has announced it: the seed's objects
 * contain code and id only.
 */
function isSeedOf(known: MachineEvent, announced: MachineEvent): boolean {
  return (
    known.source === 'machine-maintenance-operator' &&
    announced.provider === known.provider &&
    (known.id === announced.id || known.id === announced.code)
  );
}

/**
 * Returns the events of a machine after one source has been read: `announced` is everything that it
 * announces now (`complete`), or only changes. Events of other sources stay. An event that was
 * moved is the same event with other times.
 */
export function mergeEvents(
  known: readonly MachineEvent[],
  announced: readonly MachineEvent[],
  look: { readonly source: string; readonly complete: boolean },
  now: Temporal.Instant,
): readonly MachineEvent[] {
  const fresh = new Map(announced.map(event => [idOf(event), event]));
  const kept = known
    .filter(event => !announced.some(one => isSeedOf(event, one)))
    .map(event => {
      const news = fresh.get(idOf(event));
      fresh.delete(idOf(event));
      if (news !== undefined) return updated(event, news);
      return look.complete && event.source === look.source ? closeMissingEvent(event, now) : event;
    });
  return [...kept, ...fresh.values()];
}

/**
 * Maximum number of events that are kept with a machine: those that ended long ago are dropped
 * first.
 */
const limit = 32;

/**
 * Compares events: pending ones first, then by deadline, then by id. The first is the most
 * important one.
 */
export function byUrgency(one: MachineEvent, other: MachineEvent): number {
  return (
    Number(isPending(other)) - Number(isPending(one)) ||
    (one.deadline?.epochMilliseconds ?? Number.MAX_SAFE_INTEGER) -
      (other.deadline?.epochMilliseconds ?? Number.MAX_SAFE_INTEGER) ||
    (one.id < other.id ? -1 : 1)
  );
}

/** Returns the events in the order in which they are stored. */
export function sorted(events: readonly MachineEvent[]): readonly MachineEvent[] {
  return events.toSorted(byUrgency).slice(0, limit);
}

/**
 * Pauses by others: objects that their own controllers leave alone because of a pause are left
 * alone by Drydock too.
 */

/** Reason why nothing is to be done to a machine, for people. */
export type MachinePause = {
  readonly reason: 'MachinePaused' | 'PauseUnknown';
  readonly message: string;
};

/**
 * State of the Cluster of a Machine: `withheld` if Drydock may not read it, `missing` if there is
 * none (yet).
 */
export type KnownCluster = MachineCluster | 'withheld' | 'missing';

function paused(
  what: string,
  { namespace, name, pausedBy }: Pick<Machine, 'namespace' | 'name' | 'pausedBy'>,
): MachinePause | undefined {
  return pausedBy === undefined
    ? undefined
    : {
        reason: 'MachinePaused',
        message: `${what} ${namespace}/${name} is paused (${pausedBy}): nothing is done to the machine until it is not any more`,
      };
}

function ofCluster(
  { namespace, clusterName }: Machine,
  cluster: KnownCluster | undefined,
): MachinePause | undefined {
  if (cluster === undefined) return undefined;
  if (typeof cluster === 'object') return paused('Cluster', cluster);
  const why =
    cluster === 'missing'
      ? 'there is none of that name'
      : 'Drydock may not read clusters.cluster.x-k8s.io: allow it to get, list and watch them';
  return {
    reason: 'PauseUnknown',
    message: `Whether Cluster ${namespace}/${clusterName} is paused is not known (${why}): nothing is done to the machine`,
  };
}

/**
 * Returns the pause of a machine: its own, of a set above it, or of its Cluster. Undefined if there
 * is none.
 */
export function pauseOf(
  machine: Machine,
  sets: readonly MachineSet[],
  cluster: KnownCluster | undefined,
): MachinePause | undefined {
  return (
    paused('Machine', machine) ??
    sets.map(set => paused(set.kind, set)).find(found => found !== undefined) ??
    ofCluster(machine, cluster)
  );
}
