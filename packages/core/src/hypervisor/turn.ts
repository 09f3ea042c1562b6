import { isQueued, isUnderWay } from './server.ts';
import type { ServerPlan } from './server-plan.ts';
import type { HostCall, HostSnapshot } from './snapshot.ts';
import { isMigrationStuck, isStuck } from './stuck.ts';

/** Ranks by state: active servers are in use, stopped ones are not. */
const ranks: Readonly<Record<string, number>> = { active: 0, paused: 1, stopped: 2 };

/**
 * Compares by turn: active, then paused, then stopped servers, because running work is at risk
 * longest on a host that fails; the smallest of each first, so that most are safe soonest and the
 * time of one is known early; then by id, so that the order is the same after a restart.
 */
function inOrder(one: ServerPlan, other: ServerPlan): number {
  return (
    (ranks[one.server.vmState] ?? 3) - (ranks[other.server.vmState] ?? 3) ||
    (one.server.memoryMiB ?? 0) - (other.server.memoryMiB ?? 0) ||
    (one.server.id < other.server.id ? -1 : 1)
  );
}

/**
 * Returns how many migrations off this host were requested and are not over, and how many of them
 * Nova has not begun. Stuck ones do not count, so that the others go on.
 */
export function inFlightMigrations(
  snapshot: HostSnapshot,
  now: Temporal.Instant,
): { readonly all: number; readonly queued: number } {
  const { host, servers, elsewhere, migrations } = snapshot;
  const byId = new Map([...elsewhere, ...servers].map(server => [server.id, server] as const));
  const open = migrations.filter(
    one => one.source === host && isUnderWay(one) && one.status !== 'finished',
  );
  const recorded = new Set(open.map(({ server }) => server));
  const own = open.filter(one => {
    const server = byId.get(one.server);
    return server === undefined || !isMigrationStuck(snapshot, one, server, now);
  });
  // Just accepted: Nova's conductor has not created the record yet.
  const fresh = servers.filter(
    server =>
      server.taskState === 'migrating' &&
      !recorded.has(server.id) &&
      !isStuck(snapshot, server, 'migrating', now),
  ).length;
  return {
    all: new Set(own.map(({ server }) => server)).size + fresh,
    queued: own.filter(isQueued).length + fresh,
  };
}

/**
 * Returns the migrations to request now. How many Nova runs at a time is its own setting, which no
 * client can read; so more are requested as long as fewer than `ahead` wait in its queue: it always
 * has a next one, whatever its setting is.
 */
export function nextMigrations(
  snapshot: HostSnapshot,
  behaviors: readonly ServerPlan[],
  now: Temporal.Instant,
): readonly HostCall[] {
  const { all, queued } = inFlightMigrations(snapshot, now);
  const { perHost, ahead } = snapshot.limits;
  const room = Math.max(Math.min(perHost - all, ahead - queued, snapshot.free), 0);
  const ready = behaviors
    .filter(({ call }) => call?.kind === 'live-migrate' || call?.kind === 'cold-migrate')
    .sort(inOrder);
  return ready.slice(0, room).flatMap(({ call }) => call ?? []);
}
