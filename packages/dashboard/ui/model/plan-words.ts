import { own } from '@drydock/apimachinery';
import type { NodeState, PlanPhase } from '@drydock/core/plan';
import type {
  PlanApprovalView,
  PlanCountsView,
  PlanFailureView,
  PlanNodeView,
  PlanStageView,
  PlanSummary,
  PlanWaitView,
} from '../../src/scene.ts';
import { type NodeBadge, since, until } from './words.ts';

/** Texts of the dashboard about plans. Pure. */

const phaseWords: Readonly<Record<PlanPhase, string>> = {
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
  return { tone: tones[phase], word: phaseWords[phase] };
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
  const said = countWords.flatMap(([name, word]) =>
    counts[name] > 0 ? [`${counts[name].toLocaleString('en')} ${word}`] : [],
  );
  return said.length === 0 ? 'no node is due' : said.join(', ');
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
