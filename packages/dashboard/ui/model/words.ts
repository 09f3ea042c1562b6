import type { HoldView, NodeSummary, PodCountsView, PodPhase } from '../../src/scene.ts';

/** Texts of the dashboard. Pure. */

export function plural(count: number, noun: string, many = `${noun}s`): string {
  return `${count} ${count === 1 ? noun : many}`;
}

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/** Returns a duration, rounded: users do not count the seconds of an hour. */
export function span(seconds: number): string {
  if (seconds < 1) return 'a moment';
  if (seconds < minute) return `${Math.floor(seconds)} s`;
  if (seconds < hour) return `${Math.floor(seconds / minute)} min`;
  if (seconds < day)
    return `${Math.floor(seconds / hour)} h ${Math.floor((seconds % hour) / minute)} min`;
  return plural(Math.floor(seconds / day), 'day');
}

/** Returns the duration since an RFC 3339 time; empty where there is none. */
export function since(time: string, nowMs: number): string {
  const at = Date.parse(time);
  return Number.isNaN(at) ? '' : span(Math.max(0, (nowMs - at) / 1000));
}

/** Returns the duration until an RFC 3339 time. */
export function until(time: string, nowMs: number): string {
  const seconds = (Date.parse(time) - nowMs) / 1000;
  return seconds < 1 ? 'any moment now' : `in about ${span(seconds)}`;
}

/** State of a node: `tone` is its appearance, `word` its text. */
export type NodeBadge = {
  readonly tone:
    | 'service'
    | 'draining'
    | 'blocked'
    | 'held'
    | 'failed'
    | 'returning'
    | 'cordoned'
    | 'unready';
  readonly word: string;
};

function heldBadge(node: NodeSummary): NodeBadge | undefined {
  const hold = node.holds.find(({ deleting }) => !deleting) ?? node.holds[0];
  if (hold === undefined) return undefined;
  if (hold.deleting) return { tone: 'returning', word: 'Coming back' };
  if (hold.failed) return { tone: 'failed', word: 'Failed' };
  if (hold.drained) return { tone: 'held', word: 'Out of service' };
  if (!hold.draining) return { tone: 'held', word: hold.phase };
  return hold.blockers.some(({ stuck }) => stuck)
    ? { tone: 'blocked', word: 'Blocked' }
    : { tone: 'draining', word: 'Draining' };
}

export function nodeBadge(node: NodeSummary): NodeBadge {
  if (node.replaced) return { tone: 'returning', word: 'Being replaced' };
  if (node.missing) return { tone: 'failed', word: 'No such node' };
  const held = heldBadge(node);
  if (held !== undefined) return held;
  if (node.ready !== 'yes') return { tone: 'unready', word: 'Not ready' };
  return node.cordoned
    ? { tone: 'cordoned', word: 'Cordoned' }
    : { tone: 'service', word: 'In service' };
}

export function isControlPlane({ roles }: NodeSummary): boolean {
  return roles.includes('control-plane') || roles.includes('master');
}

/** State of a pod; `blocked` overrides its phase. */
export type PodState = PodPhase | 'blocked';

export const podWords: Readonly<Record<PodState, string>> = {
  running: 'ready',
  starting: 'starting',
  leaving: 'leaving',
  blocked: 'blocked',
  pending: 'waiting for a node',
  done: 'finished',
};

/**
 * Returns the number of pods in each state: `8 ready, 1 leaving`. Blocked pods are subtracted from
 * the ready ones.
 */
export function tally(
  counts: PodCountsView | undefined,
  blocked: number,
): readonly (readonly [state: PodState, count: number])[] {
  if (counts === undefined) return [];
  const running = counts.running ?? 0;
  const stuck = Math.min(blocked, running);
  const all: Readonly<Partial<Record<PodState, number>>> = {
    ...counts,
    running: running - stuck,
    blocked: stuck,
  };
  const order: readonly PodState[] = [
    'blocked',
    'leaving',
    'starting',
    'running',
    'pending',
    'done',
  ];
  return order.flatMap(state => {
    const count = all[state] ?? 0;
    return count > 0 ? [[state, count] as const] : [];
  });
}

/** Returns the counts in words. */
export function tallyText(counts: PodCountsView | undefined, blocked: number): string {
  const parts = tally(counts, blocked).map(([state, count]) => `${count} ${podWords[state]}`);
  return parts.length === 0 ? 'no pods' : parts.join(', ');
}

/** Returns the state of a VM in words. */
export function vmWord({ state, target }: NonNullable<HoldView['vms']>['items'][number]): string {
  switch (state) {
    case 'Moved':
      return target === undefined ? 'moved' : `moved to ${target}`;
    case 'Migrating':
      return target === undefined ? 'is being moved' : `is being moved to ${target}`;
    case 'Waiting':
      return 'waiting for its turn';
    case 'Cannot':
      return 'cannot move';
    case 'Stopped':
      return 'was shut down';
    case 'Left':
      return 'stays';
    default:
      return state satisfies never;
  }
}

/** Returns the name of `namespace/name`. */
export function nameOf(key: string): string {
  return key.slice(key.indexOf('/') + 1);
}
