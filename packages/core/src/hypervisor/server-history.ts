import { isBefore, secondsAfter } from '@drydock/apimachinery';
import {
  type HostSnapshot,
  hasFailed,
  hasSucceeded,
  isCold,
  isMarked,
  isQueued,
  isUnderWay,
  markedSince,
  type NovaServer,
  type ServerMigration,
} from './server.ts';

/** History of one server since its host is to be empty. */
export type ServerHistory = {
  /** Latest of its migrations from here that is not over. */
  readonly current: ServerMigration | undefined;
  /** Latest successful migration. */
  readonly done: ServerMigration | undefined;
  /** Number of unsuccessful attempts: failed ones, and those that Nova refused. */
  readonly tries: number;
  /** Reason of the last failure; in Nova's words, if there are any. */
  readonly reason: string | undefined;
  /** Time from which the next attempt may begin. */
  readonly next: Temporal.Instant | undefined;
};

/**
 * Returns when this emptying began: according to the mark on the service, otherwise when the
 * desired state arrived.
 */
export function since({
  marker,
  service,
  desiredSince,
}: Pick<HostSnapshot, 'marker' | 'service' | 'desiredSince'>): Temporal.Instant {
  return markedSince(marker, service.disabledReason) ?? desiredSince;
}

const firstPauseSeconds = 10;
const maxPauseSeconds = 600;

/**
 * Returns the seconds between an unsuccessful attempt and the next one: 10, 20, 40, … at most 10
 * minutes.
 */
function pauseSeconds(tries: number): number {
  return Math.min(firstPauseSeconds * 2 ** Math.max(tries - 1, 0), maxPauseSeconds);
}

function newest(migrations: readonly ServerMigration[]): ServerMigration | undefined {
  return migrations.reduce<ServerMigration | undefined>(
    (best, one) => (best === undefined || one.id > best.id ? one : best),
    undefined,
  );
}

/** Returns the history of the attempts to move one server off the host. */
export function serverHistoryOf(snapshot: HostSnapshot, server: string): ServerHistory {
  const from = since(snapshot);
  const own = snapshot.migrations.filter(
    one => one.server === server && one.source === snapshot.host,
  );
  const recent = own.filter(({ created }) => !isBefore(created, from));
  const { anewFrom = from } = snapshot;
  const failed = recent.filter(one => hasFailed(one) && !isBefore(one.created, anewFrom));
  const last = newest(failed);
  const refusal = snapshot.refusals.get(server);
  const tries = failed.length + (refusal?.count ?? 0);
  const isRefusalLater =
    refusal !== undefined && (last === undefined || isBefore(last.updated, refusal.at));
  const at = isRefusalLater ? refusal.at : last?.updated;
  const abandoned =
    last?.status === 'cancelled'
      ? 'its migration was aborted'
      : 'its migration failed, and Nova does not say why';
  const knownReason = last === undefined ? undefined : (snapshot.reasons.get(last.id) ?? abandoned);
  return {
    current: newest(own.filter(isUnderWay)),
    done: newest(recent.filter(hasSucceeded)),
    tries,
    reason: isRefusalLater ? refusal.message : knownReason,
    next: at && secondsAfter(at, pauseSeconds(tries)),
  };
}

/**
 * Reports whether it is a cold migration that we requested, so that we have to confirm it as well:
 * it began after we disabled the service, and its user is ours. If Nova does not report users
 * (before 2.80), only requests of this process count.
 */
export function isOurs(snapshot: HostSnapshot, migration: ServerMigration): boolean {
  const { host, user, asked, marker, service } = snapshot;
  if (
    !isCold(migration) ||
    migration.source !== host ||
    isBefore(migration.created, since(snapshot))
  )
    return false;
  if (migration.user === undefined || user === undefined) return asked.has(migration.server);
  return (
    migration.user === user &&
    (isMarked(marker, service.disabledReason) || asked.has(migration.server))
  );
}

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
