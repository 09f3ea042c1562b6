import { resolveAmount } from '../int-or-percent.ts';
import { inOrder } from './start/ramp.ts';
import { isUsed, type StageNodes, verdictsIn } from './start/stages.ts';
import type { PlanView } from './view.ts';

/** How many of the last verdicts are failures. */
const inARow = (view: PlanView): number => {
  const words = inOrder([...view.verdicts.values()]).filter(({ verdict }) => verdict === 'Done' || verdict === 'Failed');
  const last = words.findLastIndex(({ verdict }) => verdict === 'Done');
  return words.length - 1 - last;
};

/** One of its nodes was worked on in this run, whatever came of it. */
const hasWorked = (stage: StageNodes, { verdicts }: PlanView): boolean =>
  verdictsIn(stage, verdicts).some(({ verdict }) => verdict === 'Done' || verdict === 'Failed');

const remedy = 'look at status.failures, then set them aside with drydock plan retry, or abort the plan';

/**
 * Why the plan starts nothing any more: more nodes have failed than are allowed, too many in a row, too many in its first stage. Everything that is under way goes on.
 * Undefined as long as it may go on.
 */
export const haltedBy = (view: PlanView): string | undefined => {
  const { snapshot, failures, counts, stages } = view;
  const { maxFailures, consecutive, inFirstStage } = snapshot.plan.halt;
  if (snapshot.halted !== undefined) return `all plans are halted: ${snapshot.halted}`;
  if (view.gateHalt !== undefined) return `gate ${view.gateHalt.gate} was false: ${view.gateHalt.message}: ${remedy}`;
  const allowed = maxFailures === undefined ? undefined : resolveAmount(maxFailures, counts.selected);
  if (allowed !== undefined && failures.length > allowed) {
    return `${failures.length} nodes have failed, and halt.maxFailures allows ${allowed}: ${remedy}`;
  }
  const row = inARow(view);
  if (consecutive !== undefined && consecutive > 0 && row >= consecutive) return `${row} nodes in a row have failed: ${remedy}`;
  const used = stages.filter(isUsed);
  // A stage whose nodes come later than that, and stand before it, was not the first.
  const first = (used.find(stage => hasWorked(stage, view)) ?? used[0])?.stage.name;
  const early = failures.filter(({ stage }) => stage === first).length;
  if (inFirstStage !== undefined && inFirstStage > 0 && used.length > 1 && early >= inFirstStage) {
    return `${early} of stage ${first} have failed: ${remedy}`;
  }
  return undefined;
};
