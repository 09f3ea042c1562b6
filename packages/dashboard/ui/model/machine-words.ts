import type { EventKind } from '@drydock/core';
import type { MachinePhase, MachineStrategy } from '@drydock/core/machine';
import type { AnnouncedView, MachineView, WindowView } from '../../src/scene.ts';
import { until } from './words.ts';

/** Texts of the dashboard about machines and windows. Pure. */

const kindWords: Readonly<Record<EventKind, string>> = {
  reboot: 'reboot',
  redeploy: 'move to another host',
  freeze: 'freeze',
  maintenance: 'maintenance of the host',
  stop: 'stop',
  retirement: 'retirement',
  termination: 'termination',
  preemption: 'preemption',
  rebalance: 'risk of preemption',
};

const phaseWords: Readonly<Record<MachinePhase, string>> = {
  Pending: 'announced',
  AwaitingApproval: 'waiting for approval',
  Scheduled: 'scheduled',
  Surging: 'adding another machine first',
  Draining: 'being drained',
  Drained: 'drained, waiting for the cloud',
  Replacing: 'being replaced',
  Releasing: 'being released',
  Notified: 'reported',
  Succeeded: 'done',
  Cancelled: 'cancelled',
};

const strategyWords: Readonly<Record<MachineStrategy, string>> = {
  Drain: 'drain the node, wait for the cloud, release the node',
  Replace: 'drain the node, then replace the machine',
  ReplaceWithSurge: 'another machine first, then drain and replace this one',
  Notify: 'report only',
};

/**
 * Returns the kinds of events, for example `retirement`. Objects of other operators may not name
 * the event.
 */
export function kindsOf({ announced }: MachineView): string {
  const kinds = [...new Set(announced.map(({ kind }) => kindWords[kind]))];
  return kinds.length === 0 ? 'replacement' : kinds.join(', ');
}

export function phaseOf({ phase, deleting }: MachineView): string {
  return deleting ? 'ending' : phaseWords[phase];
}

/** Returns the strategy; empty before it is decided. */
export function strategyOf({ strategy }: MachineView): string {
  return strategy === undefined ? '' : strategyWords[strategy];
}

function isAhead({ state }: AnnouncedView): boolean {
  return state === 'Scheduled';
}

/** Returns `aws announces: retirement in about 13 days`. */
export function announcedText(event: AnnouncedView, nowMs: number): string {
  const { provider, kind, state, at } = event;
  const when = isAhead(event)
    ? at === undefined
      ? ''
      : ` ${until(at, nowMs)}`
    : `, ${state === 'Active' ? 'now' : state.toLowerCase()}`;
  return `${provider} announces: ${kindWords[kind]}${when}`;
}

/** Returns the appearance: a user has to act, Drydock acts, or nothing happens for now. */
export function toneOf({ phase }: MachineView): 'unready' | 'draining' | 'held' {
  if (phase === 'AwaitingApproval') return 'unready';
  return phase === 'Draining' ||
    phase === 'Surging' ||
    phase === 'Replacing' ||
    phase === 'Releasing'
    ? 'draining'
    : 'held';
}

/** Returns the state of a window: open or closed, and until when. */
export function windowText({ open, until: at, problem }: WindowView, nowMs: number): string {
  if (problem !== undefined) return `never open: ${problem}`;
  if (open === undefined) return 'no state reported yet';
  const word = open ? 'open' : 'closed';
  return at === undefined ? word : `${word}, ${open ? 'closes' : 'opens'} ${until(at, nowMs)}`;
}
