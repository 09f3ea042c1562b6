import { own } from '../../core/json.ts';
import type { NodeState } from '../../core/plan/in-flight.ts';
import type { PlanPhase } from '../../core/plan/plan.ts';
import type {
  PlanApprovalView,
  PlanCountsView,
  PlanFailureView,
  PlanNodeView,
  PlanStageView,
  PlanSummary,
  PlanWaitView,
} from '../../web/dashboard/scene.ts';
import { type NodeBadge, since, until } from './words.ts';

/** What the dashboard says of plans, as text. Pure. */

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

/** A stage whose nodes are done waits for its quiet time, or for somebody. */
const stageWords: Readonly<Record<string, string>> = {
  Pending: 'pending',
  Running: 'running',
  Soaking: 'soaking',
  AwaitingApproval: 'waiting for approval',
  Complete: 'complete',
};

/** How far a stage is: `running, 1 of 3`. */
export const stageText = ({ phase, done, selected }: PlanStageView): string =>
  `${own(stageWords, phase) ?? phase.toLowerCase()}, ${done} of ${selected}`;

/** How a plan stands: how it looks, and what is said of it. */
export const planBadge = ({ phase }: PlanSummary): NodeBadge => ({ tone: tones[phase], word: phaseWords[phase] });

/** How far a node in flight is, and since when. */
export const nodeStateText = ({ state, since: at }: PlanNodeView, nowMs: number): string => {
  const long = since(at, nowMs);
  return long === '' ? stateWords[state] : `${stateWords[state]}, for ${long}`;
};

const countWords: readonly (readonly [keyof PlanCountsView, string])[] = [
  ['due', 'due'],
  ['blocked', 'blocked'],
  ['inFlight', 'in flight'],
  ['done', 'done'],
  ['failed', 'failed'],
  ['skipped', 'skipped'],
];

/** `5 due, 1 in flight`: what there is nothing of is not said. */
export const countsText = ({ counts }: PlanSummary): string => {
  if (counts === undefined) return 'not reconciled by an operator yet';
  const said = countWords.flatMap(([name, word]) => (counts[name] > 0 ? [`${counts[name].toLocaleString('en')} ${word}`] : []));
  return said.length === 0 ? 'no node is due' : said.join(', ');
};

/** Nodes of all stages, and how many of them are done: what takes part in this run. */
export const progressOf = ({ counts, stages }: PlanSummary): { readonly done: number; readonly all: number } => ({
  done: counts?.done ?? 0,
  all: stages.reduce((sum, { selected }) => sum + selected, 0),
});

/** The state in a sentence, where it says more than the counts and what the plan waits for. */
export const messageOf = ({ phase, message, waiting }: PlanSummary): string => {
  const isSaid = phase === 'Running' || phase === 'Complete' || phase === 'Paused' || waiting.some(({ who }) => who === message);
  return isSaid ? '' : message;
};

/** Who or what it waits for, and when that may end. */
export const waitText = ({ who, ends }: PlanWaitView, nowMs: number): string => {
  const end = ends === undefined ? '' : `ends ${until(ends, nowMs)}`;
  return [who, end].filter(text => text !== '').join('; ');
};

/** Where a node has failed, why, and whether it is still held. */
export const failureText = ({ step, message, held }: PlanFailureView): string => {
  const at = own(stateWords, step) ?? step;
  return `${at === '' ? '' : `${at}: `}${message}${held ? '; the node stays held' : ''}`;
};

/** What somebody is asked to agree to. */
export const approvalText = ({ stage }: PlanApprovalView): string => (stage === undefined ? 'the run' : `what follows stage ${stage}`);

/** What can be done to a plan. Paused or not is as the spec has it, whether the operator has seen it or not. */
export const switchOf = ({ paused, aborted, deleting }: PlanSummary): 'pause' | 'resume' | undefined => {
  if (deleting || aborted) return undefined;
  return paused ? 'resume' : 'pause';
};
