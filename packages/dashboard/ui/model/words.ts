import { own } from '@drydock/apimachinery';
import type { EventKind } from '@drydock/core';
import type { MachinePhase, MachineStrategy } from '@drydock/core/machine';
import type { NodeState, PlanPhase } from '@drydock/core/plan';
import type {
  AnnouncedView,
  HoldView,
  MachineView,
  NodeSummary,
  PlanApprovalView,
  PlanCountsView,
  PlanFailureView,
  PlanNodeView,
  PlanStageView,
  PlanSummary,
  PlanWaitView,
  PodCountsView,
  PodPhase,
  WindowView,
} from '../../src/scene.ts';

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
type NodeBadge = {
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

/** Texts of the dashboard about plans. Pure. */

const planPhaseWords: Readonly<Record<PlanPhase, string>> = {
  Pending: 'Not started',
  AwaitingApproval: 'Waiting for approval',
  Running: 'Running',
  Paused: 'Paused',
  Halted: 'Halted',
  Complete: 'Complete',
  Aborted: 'Aborted',
  Deleting: 'Being deleted',
};

const tones: Readonly<Record<PlanPhase, NodeBadge['tone']>> = {
  Pending: 'service',
  AwaitingApproval: 'unready',
  Running: 'draining',
  Paused: 'cordoned',
  Halted: 'failed',
  Complete: 'held',
  Aborted: 'cordoned',
  Deleting: 'returning',
};

const stateWords: Readonly<Record<NodeState, string>> = {
  Starting: 'starting',
  Holding: 'being drained',
  Working: 'work in progress',
  Rebooting: 'rebooting',
  Verifying: 'being verified',
  Soaking: 'soaking',
  Releasing: 'being released',
};

/**
 * Words for phases of stages; a stage whose nodes are done waits for its soak time, or for an
 * approval.
 */
const stageWords: Readonly<Record<string, string>> = {
  Pending: 'pending',
  Running: 'running',
  Soaking: 'soaking',
  AwaitingApproval: 'waiting for approval',
  Complete: 'complete',
};

/** Returns the progress of a stage: `running, 1 of 3`. */
export function stageText({ phase, done, selected }: PlanStageView): string {
  return `${own(stageWords, phase) ?? phase.toLowerCase()}, ${done} of ${selected}`;
}

/** Returns appearance and word for the phase of a plan. */
export function planBadge({ phase }: PlanSummary): NodeBadge {
  return { tone: tones[phase], word: planPhaseWords[phase] };
}

/** Returns the state of a node in flight, and for how long. */
export function nodeStateText({ state, since: at }: PlanNodeView, nowMs: number): string {
  const long = since(at, nowMs);
  return long === '' ? stateWords[state] : `${stateWords[state]}, for ${long}`;
}

const countWords: readonly (readonly [keyof PlanCountsView, string])[] = [
  ['due', 'due'],
  ['blocked', 'blocked'],
  ['inFlight', 'in flight'],
  ['done', 'done'],
  ['failed', 'failed'],
  ['skipped', 'skipped'],
];

/** Returns `5 due, 1 in flight`, without counts of zero. */
export function countsText({ counts }: PlanSummary): string {
  if (counts === undefined) return 'not reconciled by an operator yet';
  const parts = countWords.flatMap(([name, word]) =>
    counts[name] > 0 ? [`${counts[name].toLocaleString('en')} ${word}`] : [],
  );
  return parts.length === 0 ? 'no node is due' : parts.join(', ');
}

/** Returns the number of nodes of all stages in this run, and of those done. */
export function progressOf({ counts, stages }: PlanSummary): {
  readonly done: number;
  readonly all: number;
} {
  return {
    done: counts?.done ?? 0,
    all: stages.reduce((sum, { selected }) => sum + selected, 0),
  };
}

/** Returns the message where it adds to the counts and the waits. */
export function messageOf({ phase, message, waiting }: PlanSummary): string {
  const isSaid =
    phase === 'Running' ||
    phase === 'Complete' ||
    phase === 'Paused' ||
    waiting.some(one => one.message === message);
  return isSaid ? '' : message;
}

/** Returns a wait, and when it may end. */
export function waitText(wait: PlanWaitView, nowMs: number): string {
  const end = wait.until === undefined ? '' : `ends ${until(wait.until, nowMs)}`;
  return [wait.message, end].filter(text => text !== '').join('; ');
}

/** Returns the state in which a node failed, the reason, and whether it is still held. */
export function failureText({ state, message, held }: PlanFailureView): string {
  const at = own(stateWords, state) ?? state;
  return `${at === '' ? '' : `${at}: `}${message}${held ? '; the node stays held' : ''}`;
}

/** Returns the subject of an approval. */
export function approvalText({ stage }: PlanApprovalView): string {
  return stage === undefined ? 'the run' : `what follows stage ${stage}`;
}

/**
 * Returns the possible action on a plan, by its spec, whether the operator has seen that or not.
 */
export function switchOf({
  paused,
  aborted,
  deleting,
}: PlanSummary): 'pause' | 'resume' | undefined {
  if (deleting || aborted) return undefined;
  return paused ? 'resume' : 'pause';
}

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

const machinePhaseWords: Readonly<Record<MachinePhase, string>> = {
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
  return deleting ? 'ending' : machinePhaseWords[phase];
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
