import { isBefore } from '@drydock/apimachinery';
import { type EventState, isPending, type MachineEvent } from './event.ts';

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
function takenOver({ occurrence, announcedAt }: MachineEvent, told: MachineEvent): MachineEvent {
  return {
    ...told,
    ...(occurrence !== undefined && { occurrence }),
    ...(announcedAt !== undefined && told.announcedAt === undefined && { announcedAt }),
  };
}

function reopen(known: MachineEvent, told: MachineEvent): MachineEvent {
  return {
    ...takenOver(known, told),
    occurrence: (known.occurrence ?? 1) + 1,
  };
}

/**
 * Returns the updated event. The first source decides; an announcement of another source counts
 * only if it is further on: one of the two always lags behind. If the source that ended an event
 * announces it again, that is another occurrence.
 */
function updated(known: MachineEvent, told: MachineEvent): MachineEvent {
  if (known.source !== told.source)
    return progress[told.state] > progress[known.state] ? { ...known, state: told.state } : known;
  const isOver = !isPending(known);
  if (isLate(known, told, isOver)) return known;
  return isOver && isPending(told) ? reopen(known, told) : takenOver(known, told);
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
function isSeedOf(known: MachineEvent, told: MachineEvent): boolean {
  return (
    known.source === 'machine-maintenance-operator' &&
    told.provider === known.provider &&
    (known.id === told.id || known.id === told.code)
  );
}

/**
 * Returns the events of a machine after one source has been read: `told` is everything that it
 * announces now (`complete`), or only changes. Events of other sources stay. An event that was
 * moved is the same event with other times.
 */
export function mergeEvents(
  known: readonly MachineEvent[],
  told: readonly MachineEvent[],
  look: { readonly source: string; readonly complete: boolean },
  now: Temporal.Instant,
): readonly MachineEvent[] {
  const fresh = new Map(told.map(event => [idOf(event), event]));
  const kept = known
    .filter(event => !told.some(one => isSeedOf(event, one)))
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
