import { isBefore } from '../time.ts';
import { type EventState, isPending, type MachineEvent } from './event.ts';

/** How the events of a machine go on when somebody has looked at them again. */

/** Two sources of one cloud tell the same event under the same id: its API and the metadata service of the machine. */
const idOf = ({ provider, id }: MachineEvent): string => `${provider} ${id}`;

const progress: Readonly<Record<EventState, number>> = { Scheduled: 0, Active: 1, Completed: 2, Cancelled: 2 };

/** A copy of what the same sender has said before, by his own clock: transports keep no order. What does not say when it was written comes in the order of its arrival. */
const isLate = ({ toldAt: before }: MachineEvent, { toldAt, state }: MachineEvent, isOver: boolean): boolean => {
  if (before === undefined || toldAt === undefined) return false;
  // Of two that were written at the same moment, the one that says that it is over was the later one.
  return isBefore(toldAt, before) || (isOver && isPending({ state }) && !isBefore(before, toldAt));
};

/** What is remembered of an event when its sender says something new of it. */
const takenOver = ({ occurrence, toldAt }: MachineEvent, told: MachineEvent): MachineEvent => ({
  ...told,
  ...(occurrence !== undefined && { occurrence }),
  ...(toldAt !== undefined && told.toldAt === undefined && { toldAt }),
});

const reopen = (known: MachineEvent, told: MachineEvent): MachineEvent => ({
  ...takenOver(known, told),
  occurrence: (known.occurrence ?? 1) + 1,
});

/**
 * Whoever told it first has the say; from another source only that it is further on counts: one of the two is always behind. What was over and is announced again by
 * whoever said that it was over is another occurrence.
 */
const updated = (known: MachineEvent, told: MachineEvent): MachineEvent => {
  if (known.source !== told.source) return progress[told.state] > progress[known.state] ? { ...known, state: told.state } : known;
  const isOver = !isPending(known);
  if (isLate(known, told, isOver)) return known;
  return isOver && isPending(told) ? reopen(known, told) : takenOver(known, told);
};

/** An event that is not announced any more without a word: what was due has happened, what was not has been called off. */
const closeMissingEvent = (event: MachineEvent, now: Temporal.Instant): MachineEvent => {
  if (!isPending(event)) return event;
  const due = event.state === 'Active' || (event.notBefore !== undefined && !isBefore(now, event.notBefore));
  const state: EventState = due ? 'Completed' : 'Cancelled';
  return { ...event, state };
};

/** The same event as another source has told it: the seed's objects know code and id only. */
const isSeedOf = (known: MachineEvent, told: MachineEvent): boolean =>
  known.source === 'machine-maintenance-operator' && told.provider === known.provider && (known.id === told.id || known.id === told.code);

/**
 * The events of a machine after one source has been looked at: `told` is all that it announces now (`complete`), or only what has changed.
 * What other sources have said stays. An event that was moved is the same event with other times.
 */
export const mergeEvents = (
  known: readonly MachineEvent[],
  told: readonly MachineEvent[],
  look: { readonly source: string; readonly complete: boolean },
  now: Temporal.Instant,
): readonly MachineEvent[] => {
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
};

/** Kept with a machine at most: those that have ended long ago go first. */
const limit = 32;

/** Pending ones first, then by deadline, then by id: the first says most. */
export const byUrgency = (one: MachineEvent, other: MachineEvent): number =>
  Number(isPending(other)) - Number(isPending(one)) ||
  (one.deadline?.epochMilliseconds ?? Number.MAX_SAFE_INTEGER) - (other.deadline?.epochMilliseconds ?? Number.MAX_SAFE_INTEGER) ||
  (one.id < other.id ? -1 : 1);

/** In the order in which they are stored. */
export const sorted = (events: readonly MachineEvent[]): readonly MachineEvent[] => events.toSorted(byUrgency).slice(0, limit);
