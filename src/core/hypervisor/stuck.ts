import { isBefore, secondsAfter } from '../time.ts';
import { isQueued, isUnderWay, type NovaServer, type ServerMigration } from './server.ts';
import type { HostSnapshot } from './snapshot.ts';

/** Seconds after which a task counts as one of which nothing comes: Nova does each in seconds, a guest gets a minute or a few to power off. */
const defaults = 600;

/** The same where disks are copied, or fetched. */
const copying = 3600;

const copies = /image|shelv|rebuild|resize|spawn|block_device_mapping|backup|building/;

const limitOf = (task: string): number => (copies.test(task) ? copying : defaults);

const isPast = (moment: Temporal.Instant | undefined, seconds: number, now: Temporal.Instant): boolean =>
  moment !== undefined && isBefore(secondsAfter(moment, seconds), now);

const later = (one: Temporal.Instant, other: Temporal.Instant | undefined): Temporal.Instant =>
  other === undefined || isBefore(other, one) ? one : other;

/**
 * Nothing comes of the server's task any more: Nova has not written to the server for longer than the task takes, by Nova's own times; or this process has seen
 * it in that task for so long, whatever else was written. A migration may have been at work all that time: of it Nova's times alone say something, where there are any.
 */
export const isStuck = (
  { seenSince }: Pick<HostSnapshot, 'seenSince'>,
  { id, updated }: NovaServer,
  task: string,
  now: Temporal.Instant,
): boolean => {
  if (isPast(updated, limitOf(task), now)) return true;
  return (task !== 'migrating' || updated === undefined) && isPast(seenSince.get(id), limitOf(task), now);
};

/** Another migration off the host is on its way: Nova takes what waits when that has ended. */
const isBehindAnother = ({ host, migrations }: HostSnapshot, { id }: ServerMigration, now: Temporal.Instant): boolean =>
  migrations.some(one => one.id !== id && one.source === host && isUnderWay(one) && !isQueued(one) && !isPast(one.updated, copying, now));

/**
 * Nothing comes of the migration any more. One that runs is written to by Nova every few seconds, or at its end; one that waits does so for another one. How long it has been seen
 * says nothing: copying may take hours.
 */
export const isMigrationStuck = (
  snapshot: HostSnapshot,
  migration: ServerMigration,
  server: NovaServer,
  now: Temporal.Instant,
): boolean => {
  if (isQueued(migration) && isBehindAnother(snapshot, migration, now)) return false;
  return isPast(later(migration.updated, server.updated), isQueued(migration) ? defaults : copying, now);
};

/** How long Nova has to have been at it, for people. */
export const timeLimitText = (task: string): string => (limitOf(task) === copying ? 'an hour' : 'ten minutes');
