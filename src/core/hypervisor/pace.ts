import { earliest, isBefore, secondsAfter, secondsBetween } from '../time.ts';
import { isOnItsWay, type VmStatus } from '../vm/vm-status.ts';
import { hasSucceeded, type ServerMigration } from './server.ts';
import { since } from './server-history.ts';
import type { HostSnapshot } from './snapshot.ts';

/** The migrations off this host that went well, of this time. */
const completed = (snapshot: HostSnapshot): readonly ServerMigration[] => {
  const from = since(snapshot);
  return snapshot.migrations.filter(one => one.source === snapshot.host && hasSucceeded(one) && !isBefore(one.created, from));
};

/** Seconds from one server that has left to the next, as observed; undefined before the first. */
const secondsEach = (done: readonly ServerMigration[]): number | undefined => {
  const begin = earliest(done.map(({ created }) => created));
  if (begin === undefined) return undefined;
  return Math.max(...done.map(({ updated }) => secondsBetween(begin, updated))) / done.length;
};

/** When the last server that can move will have left, at the pace so far; undefined before one has, and when there is none. */
export const expectedEnd = (snapshot: HostSnapshot, vms: readonly VmStatus[]): Temporal.Instant | undefined => {
  const done = completed(snapshot);
  const each = secondsEach(done);
  const left = vms.filter(isOnItsWay).length;
  if (each === undefined || left === 0) return undefined;
  const last = done.reduce((latest, { updated }) => (isBefore(latest, updated) ? updated : latest), since(snapshot));
  return secondsAfter(last, each * left);
};

const idleMs = 10_000;
const soonestMs = 1000;
const latestMs = 5000;

/**
 * Milliseconds until the next look while servers move: four tenths of the time from one that leaves to the next, between 1 and 5 s, so that the queue in
 * Nova never runs dry and Nova has better things to do than to answer; 10 s when nothing is under way.
 */
export const lookAgainMs = (snapshot: HostSnapshot, vms: readonly VmStatus[]): number => {
  if (!vms.some(isOnItsWay)) return idleMs;
  const each = secondsEach(completed(snapshot));
  return Math.min(Math.max((each ?? 0) * 400, soonestMs), latestMs);
};
