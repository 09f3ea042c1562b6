import { isQueued, isUnderWay } from './server.ts';
import type { ServerPlan } from './server-plan.ts';
import type { HostCall, HostSnapshot } from './snapshot.ts';

/** Active servers are waited for by somebody, stopped ones by nobody. */
const ranks: Readonly<Record<string, number>> = { active: 0, paused: 1, stopped: 2 };

/**
 * Who goes first: active, then paused, then stopped ones, because work that goes on is at risk longest on a host that fails; the smallest of each
 * first, so that the most are safe the soonest and the time of one is known early; then by id, so that the order is the same after a restart.
 */
const inOrder = (one: ServerPlan, other: ServerPlan): number =>
  (ranks[one.server.vmState] ?? 3) - (ranks[other.server.vmState] ?? 3) ||
  (one.server.memoryMiB ?? 0) - (other.server.memoryMiB ?? 0) ||
  (one.server.id < other.server.id ? -1 : 1);

/** Migrations off this host that have been asked for and are not over, and how many of them Nova has not begun. */
export const flights = ({ host, servers, migrations }: HostSnapshot): { readonly all: number; readonly queued: number } => {
  const own = migrations.filter(one => one.source === host && isUnderWay(one) && one.status !== 'finished');
  const recorded = new Set(own.map(({ server }) => server));
  // Accepted a moment ago: Nova's conductor has not made the record yet.
  const fresh = servers.filter(({ id, taskState }) => taskState === 'migrating' && !recorded.has(id)).length;
  return { all: recorded.size + fresh, queued: own.filter(isQueued).length + fresh };
};

/**
 * The migrations to ask for now. How many Nova does at a time is its own setting, and no client can read it; so more are asked for as long as
 * fewer than `ahead` wait in its queue: it always has a next one, however many it does at a time.
 */
export const nextOnes = (snapshot: HostSnapshot, behaviors: readonly ServerPlan[]): readonly HostCall[] => {
  const { all, queued } = flights(snapshot);
  const { perHost, ahead } = snapshot.limits;
  const room = Math.max(Math.min(perHost - all, ahead - queued, snapshot.free), 0);
  const ready = behaviors.filter(({ call }) => call?.kind === 'live-migrate' || call?.kind === 'cold-migrate').sort(inOrder);
  return ready.slice(0, room).flatMap(({ call }) => call ?? []);
};
