import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { isQueued, isUnderWay, type NovaServer, type ServerMigration } from './server.ts';
import type { HostSnapshot } from './snapshot.ts';

/**
 * Seconds after which a task counts as stuck: Nova does each in seconds, a guest gets up to a few
 * minutes to power off.
 */
const defaults = 600;

/** Seconds for tasks that copy or fetch disks. */
const copying = 3600;

const copies = /image|shelv|rebuild|resize|spawn|block_device_mapping|backup|building/;

function limitOf(task: string): number {
  return copies.test(task) ? copying : defaults;
}

function isPast(
  moment: Temporal.Instant | undefined,
  seconds: number,
  now: Temporal.Instant,
): boolean {
  return moment !== undefined && isBefore(secondsAfter(moment, seconds), now);
}

function later(one: Temporal.Instant, other: Temporal.Instant | undefined): Temporal.Instant {
  return other === undefined || isBefore(other, one) ? one : other;
}

/**
 * Reports whether the server's task is stuck: Nova has not written to the server for longer than
 * the task takes, by Nova's own times; or this process has seen the server in that task for as
 * long, regardless of other writes. A migration may have been running all that time: for it only
 * Nova's times count, if there are any.
 */
export function isStuck(
  { seenSince }: Pick<HostSnapshot, 'seenSince'>,
  { id, updated }: NovaServer,
  task: string,
  now: Temporal.Instant,
): boolean {
  if (isPast(updated, limitOf(task), now)) return true;
  return (
    (task !== 'migrating' || updated === undefined) && isPast(seenSince.get(id), limitOf(task), now)
  );
}

/**
 * Reports whether another migration off the host is in progress: Nova starts the queued ones when
 * that has ended.
 */
function isBehindAnother(
  { host, migrations }: HostSnapshot,
  { id }: ServerMigration,
  now: Temporal.Instant,
): boolean {
  return migrations.some(
    one =>
      one.id !== id &&
      one.source === host &&
      isUnderWay(one) &&
      !isQueued(one) &&
      !isPast(one.updated, copying, now),
  );
}

/**
 * Reports whether the migration is stuck. Nova writes to a running one every few seconds, or at its
 * end; a queued one waits for another one. How long it has been seen proves nothing: copying may
 * take hours.
 */
export function isMigrationStuck(
  snapshot: HostSnapshot,
  migration: ServerMigration,
  server: NovaServer,
  now: Temporal.Instant,
): boolean {
  if (isQueued(migration) && isBehindAnother(snapshot, migration, now)) return false;
  return isPast(
    later(migration.updated, server.updated),
    isQueued(migration) ? defaults : copying,
    now,
  );
}

/** Returns the time limit of a task, for people. */
export function timeLimitText(task: string): string {
  return limitOf(task) === copying ? 'an hour' : 'ten minutes';
}
