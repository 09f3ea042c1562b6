import { earliest, isBefore, secondsAfter, secondsBetween } from '../time.ts';
import { isOnItsWay, type VmStanding } from '../vm/vm-status.ts';
import { hasSucceeded, type Migration } from './server.ts';
import type { HostPicture } from './snapshot.ts';
import { since } from './track.ts';

/** The migrations off this host that went well, of this time. */
const completed = (picture: HostPicture): readonly Migration[] => {
  const from = since(picture);
  return picture.migrations.filter(one => one.source === picture.host && hasSucceeded(one) && !isBefore(one.created, from));
};

/** Seconds from one server that has left to the next, as observed; undefined before the first. */
const secondsEach = (done: readonly Migration[]): number | undefined => {
  const begin = earliest(done.map(({ created }) => created));
  if (begin === undefined) return undefined;
  return Math.max(...done.map(({ updated }) => secondsBetween(begin, updated))) / done.length;
};

/** When the last server that can move will have left, at the pace so far; undefined before one has, and when there is none. */
export const expectedEnd = (picture: HostPicture, vms: readonly VmStanding[]): Temporal.Instant | undefined => {
  const done = completed(picture);
  const each = secondsEach(done);
  const left = vms.filter(isOnItsWay).length;
  if (each === undefined || left === 0) return undefined;
  const last = done.reduce((latest, { updated }) => (isBefore(latest, updated) ? updated : latest), since(picture));
  return secondsAfter(last, each * left);
};

const idleMs = 10_000;
const soonestMs = 1000;
const latestMs = 5000;

/**
 * Milliseconds until the next look while servers move: four tenths of the time from one that leaves to the next, between 1 and 5 s, so that the queue in
 * Nova never runs dry and Nova has better things to do than to answer; 10 s when nothing is under way.
 */
export const lookAgainMs = (picture: HostPicture, vms: readonly VmStanding[]): number => {
  if (!vms.some(isOnItsWay)) return idleMs;
  const each = secondsEach(completed(picture));
  return Math.min(Math.max((each ?? 0) * 400, soonestMs), latestMs);
};
