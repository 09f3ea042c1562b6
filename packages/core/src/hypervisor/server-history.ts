import { isBefore, secondsAfter } from '@drydock/apimachinery';
import { isMarked, markedSince } from './mark.ts';
import { hasFailed, hasSucceeded, isCold, isUnderWay, type ServerMigration } from './server.ts';
import type { HostSnapshot } from './snapshot.ts';

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
  const told = last === undefined ? undefined : (snapshot.reasons.get(last.id) ?? abandoned);
  return {
    current: newest(own.filter(isUnderWay)),
    done: newest(recent.filter(hasSucceeded)),
    tries,
    reason: isRefusalLater ? refusal.message : told,
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
