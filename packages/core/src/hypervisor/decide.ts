import { earliest, isBefore, secondsAfter, secondsBetween } from '@drydock/apimachinery';
import { type HostView, hasGone, isOnItsWay, type VmStatus } from '../vm/vm-status.ts';
import { nextMigrations } from './match.ts';
import {
  type HostCall,
  type HostDecision,
  type HostSnapshot,
  hasSucceeded,
  isMarked,
  isQueued,
  isUnderWay,
  markOf,
  type ServerMigration,
} from './server.ts';
import { isOurs, since } from './server-history.ts';
import { planDepartedServer, planServer, type ServerPlan } from './server-plan.ts';

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

type Step = (
  snapshot: HostSnapshot,
  behaviors: readonly ServerPlan[],
  now: Temporal.Instant,
) => readonly HostCall[] | undefined;

/** Aborts queued migrations that we requested, when no maintenance holds the node any more. */
const callOff: Step = snapshot => {
  if (
    snapshot.desired !== undefined ||
    !snapshot.isReleased ||
    !isMarked(snapshot.marker, snapshot.service.disabledReason)
  )
    return undefined;
  const queued = snapshot.migrations.filter(
    one => one.source === snapshot.host && isQueued(one) && isFromUs(snapshot, one),
  );
  return queued.length === 0
    ? undefined
    : queued.map(({ server, id }) => ({ kind: 'abort', server, migration: id }));
};

function isFromUs(snapshot: HostSnapshot, { user, created }: ServerMigration): boolean {
  return user !== undefined && user === snapshot.user && !isBefore(created, since(snapshot));
}

/** Confirms a cold migration that we requested, even if nothing is wanted of the host any more. */
const confirm: Step = (_, behaviors) => {
  const calls = behaviors.flatMap(({ call }) => (call?.kind === 'confirm' ? [call] : []));
  return calls.length === 0 ? undefined : calls;
};

/**
 * Enables the service only if the disabled reason is ours, and only when nothing is left that can
 * be recognised only by that reason.
 */
const enable: Step = snapshot => {
  const { desired, isReleased, marker, service } = snapshot;
  if (
    desired !== undefined ||
    !isReleased ||
    service.isEnabled ||
    !isMarked(marker, service.disabledReason)
  )
    return undefined;
  const isColdLeft = snapshot.migrations.some(one => isUnderWay(one) && isOurs(snapshot, one));
  return isColdLeft ? undefined : [{ kind: 'enable' }];
};

/** Disables the service, which keeps new servers away, before anything moves. */
const disable: Step = ({ desired, marker, service }, _, now) =>
  desired !== undefined && service.isEnabled
    ? [{ kind: 'disable', reason: markOf(marker, desired.why, now) }]
    : undefined;

const move: Step = (snapshot, behaviors, now) =>
  snapshot.desired === undefined || snapshot.service.isEnabled
    ? undefined
    : nextMigrations(snapshot, behaviors, now);

/** Steps in this order: the first one with calls decides; confirmations are sent beside it. */
const steps: readonly Step[] = [disable, callOff, enable, move];

function byName(one: VmStatus, other: VmStatus): number {
  return one.name === other.name ? (one.id < other.id ? -1 : 1) : one.name < other.name ? -1 : 1;
}

/**
 * Seconds in which a server that was scheduled before the service was disabled may be missing in
 * the host's list.
 */
const settleSeconds = 3;

function isEmpty(snapshot: HostSnapshot, vms: readonly VmStatus[], now: Temporal.Instant): boolean {
  if (snapshot.desired === undefined || snapshot.service.isEnabled) return false;
  const arriving = snapshot.migrations.some(
    one => one.target === snapshot.host && one.source !== snapshot.host && isUnderWay(one),
  );
  // `since` is five seconds early, so that no migration is missed.
  const isSettled = !isBefore(now, secondsAfter(since(snapshot), settleSeconds + 5));
  return isSettled && !arriving && vms.every(hasGone);
}

/**
 * Decides what to do about one hypervisor now: a pure function of Nova's responses, the desired
 * state and the time. No call is repeated, because work in progress is read from Nova itself; the
 * memory between two passes (refusals, requested servers) can be lost at any time.
 */
export function decideHost(snapshot: HostSnapshot, now: Temporal.Instant): HostDecision {
  const serverPlans = [
    ...snapshot.servers.map(server => planServer(snapshot, server, now)),
    ...snapshot.elsewhere.flatMap(server => planDepartedServer(snapshot, server, now) ?? []),
  ];
  const vms = serverPlans.map(({ standing }) => standing).sort(byName);
  const first =
    steps
      .values()
      .map(step => step(snapshot, serverPlans, now))
      .find(calls => calls !== undefined) ?? [];
  const calls = [...first, ...(confirm(snapshot, serverPlans, now) ?? [])];
  const end = expectedEnd(snapshot, vms);
  const empty = isEmpty(snapshot, vms, now);
  const view: HostView = {
    vms,
    empty,
    ...(end !== undefined && snapshot.desired !== undefined && { expectedEnd: end }),
  };
  return { calls, view, againMs: againMs(snapshot, vms, calls, empty) };
}

function againMs(
  snapshot: HostSnapshot,
  vms: readonly VmStatus[],
  calls: readonly HostCall[],
  empty: boolean,
): number | undefined {
  // The new state of the service is read again at once.
  if (calls.some(({ kind }) => kind === 'disable' || kind === 'enable')) return 0;
  const isLeftOver = isMarked(snapshot.marker, snapshot.service.disabledReason);
  if (snapshot.desired === undefined)
    return isLeftOver ? (snapshot.isReleased ? 1000 : 10_000) : undefined;
  // Nothing has to leave any more: only arrivals are watched for.
  return vms.every(hasGone) && !empty ? 1000 : lookAgainMs(snapshot, vms);
}
