import { isBefore, secondsAfter } from '../time.ts';
import type { HostView } from '../vm/host.ts';
import { hasGone, type VmStanding } from '../vm/vm-status.ts';
import { isMarked, markOf } from './mark.ts';
import { expectedEnd, lookAgainMs } from './pace.ts';
import { isQueued, isUnderWay, type Migration } from './server.ts';
import { type Fate, judge, judgeElsewhere } from './server-plan.ts';
import type { HostCall, HostDecision, HostPicture } from './snapshot.ts';
import { isOurs, since } from './track.ts';
import { nextOnes } from './turn.ts';

type Step = (picture: HostPicture, fates: readonly Fate[], now: Temporal.Instant) => readonly HostCall[] | undefined;

/** Nobody holds the node any more: what Nova has not begun is called off, as far as we asked for it. */
const callOff: Step = picture => {
  if (picture.wish !== undefined || !picture.isReleased || !isMarked(picture.marker, picture.service.disabledReason)) return undefined;
  const queued = picture.migrations.filter(one => one.source === picture.host && isQueued(one) && isFromUs(picture, one));
  return queued.length === 0 ? undefined : queued.map(({ server, id }) => ({ kind: 'abort', server, migration: id }));
};

const isFromUs = (picture: HostPicture, { user, created }: Migration): boolean =>
  user !== undefined && user === picture.user && !isBefore(created, since(picture));

/** A cold migration that we asked for has to be confirmed, also after everybody has lost interest in the host. */
const confirm: Step = (_, fates) => {
  const calls = fates.flatMap(({ call }) => (call?.kind === 'confirm' ? [call] : []));
  return calls.length === 0 ? undefined : calls;
};

/** Enabled again only when the reason is ours, and only when nothing is left that the reason is needed to recognise. */
const enable: Step = picture => {
  const { wish, isReleased, marker, service } = picture;
  if (wish !== undefined || !isReleased || service.isEnabled || !isMarked(marker, service.disabledReason)) return undefined;
  const isColdLeft = picture.migrations.some(one => isUnderWay(one) && isOurs(picture, one));
  return isColdLeft ? undefined : [{ kind: 'enable' }];
};

/** New servers are kept away before anything moves. */
const disable: Step = ({ wish, marker, service }, _, now) =>
  wish !== undefined && service.isEnabled ? [{ kind: 'disable', reason: markOf(marker, wish.why, now) }] : undefined;

const move: Step = (picture, fates) => (picture.wish === undefined || picture.service.isEnabled ? undefined : nextOnes(picture, fates));

/** The first that has something to do says what; confirming goes on beside all of it. */
const steps: readonly Step[] = [disable, callOff, enable, move];

const byName = (one: VmStanding, other: VmStanding): number =>
  one.name === other.name ? (one.id < other.id ? -1 : 1) : one.name < other.name ? -1 : 1;

/** A server that was scheduled before the service was disabled may not be on the host's list yet. */
const settleSeconds = 3;

const isEmpty = (picture: HostPicture, vms: readonly VmStanding[], now: Temporal.Instant): boolean => {
  if (picture.wish === undefined || picture.service.isEnabled) return false;
  const arriving = picture.migrations.some(one => one.target === picture.host && one.source !== picture.host && isUnderWay(one));
  // `since` is five seconds early, so that no migration is missed.
  const isSettled = !isBefore(now, secondsAfter(since(picture), settleSeconds + 5));
  return isSettled && !arriving && vms.every(hasGone);
};

/**
 * What to do about one hypervisor now: a pure function of what Nova says, of the wish and of the time. Nothing is asked twice, because what is
 * under way is read from Nova itself; what is remembered between two looks (refusals, what was asked) can be lost at any time.
 */
export const decideHost = (picture: HostPicture, now: Temporal.Instant): HostDecision => {
  const fates = [
    ...picture.servers.map(server => judge(picture, server, now)),
    ...picture.elsewhere.flatMap(server => judgeElsewhere(picture, server) ?? []),
  ];
  const vms = fates.map(({ standing }) => standing).sort(byName);
  const first =
    steps
      .values()
      .map(step => step(picture, fates, now))
      .find(calls => calls !== undefined) ?? [];
  const calls = [...first, ...(confirm(picture, fates, now) ?? [])];
  const end = expectedEnd(picture, vms);
  const empty = isEmpty(picture, vms, now);
  const view: HostView = { vms, empty, ...(end !== undefined && picture.wish !== undefined && { expectedEnd: end }) };
  return { calls, view, againMs: againMs(picture, vms, calls, empty) };
};

const againMs = (picture: HostPicture, vms: readonly VmStanding[], calls: readonly HostCall[], empty: boolean): number | undefined => {
  // What the service has become is looked at once more, at once.
  if (calls.some(({ kind }) => kind === 'disable' || kind === 'enable')) return 0;
  const isLeftOver = isMarked(picture.marker, picture.service.disabledReason);
  if (picture.wish === undefined) return isLeftOver ? (picture.isReleased ? 1000 : 10_000) : undefined;
  // Nothing has to leave any more: it is only to be seen that nothing comes.
  return vms.every(hasGone) && !empty ? 1000 : lookAgainMs(picture, vms);
};
