import { earliest, isBefore, secondsAfter, secondsBetween } from '@drydock/apimachinery';
import { isOnItsWay, type VmStatus } from '../vm/vm-status.ts';
import { hasSucceeded, type ServerMigration } from './server.ts';
import { since } from './server-history.ts';
import type { HostSnapshot } from './snapshot.ts';

/** Returns the successful migrations off this host since it is to be empty. */
function completed(snapshot: HostSnapshot): readonly ServerMigration[] {
  const from = since(snapshot);
  return snapshot.migrations.filter(
    one => one.source === snapshot.host && hasSucceeded(one) && !isBefore(one.created, from),
  );
}

/**
 * Returns the observed seconds from one server that has left to the next; undefined before the
 * first.
 */
function secondsEach(done: readonly ServerMigration[]): number | undefined {
  const begin = earliest(done.map(({ created }) => created));
  if (begin === undefined) return undefined;
  return Math.max(...done.map(({ updated }) => secondsBetween(begin, updated))) / done.length;
}

/**
 * Returns when the last server that can move will have left, at the pace so far; undefined before
 * the first has left, and if none is left.
 */
export function expectedEnd(
  snapshot: HostSnapshot,
  vms: readonly VmStatus[],
): Temporal.Instant | undefined {
  const done = completed(snapshot);
  const each = secondsEach(done);
  const left = vms.filter(isOnItsWay).length;
  if (each === undefined || left === 0) return undefined;
  const last = done.reduce(
    (latest, { updated }) => (isBefore(latest, updated) ? updated : latest),
    since(snapshot),
  );
  return secondsAfter(last, each * left);
}

const idleMs = 10_000;
const soonestMs = 1000;
const latestMs = 5000;

/**
 * Returns the milliseconds until the next look while servers move: four tenths of the time from one
 * that leaves to the next, between 1 and 5 s, so that the queue in Nova never runs empty and Nova
 * is not busy with our requests; 10 s when nothing moves.
 */
export function lookAgainMs(snapshot: HostSnapshot, vms: readonly VmStatus[]): number {
  if (!vms.some(isOnItsWay)) return idleMs;
  const each = secondsEach(completed(snapshot));
  return Math.min(Math.max((each ?? 0) * 400, soonestMs), latestMs);
}
