import { resolveAmount } from '@drydock/apimachinery';
import type { PlanSnapshot } from './snapshot.ts';
import { inOrder } from './start/ramp.ts';
import { isUsed, type StageNodes, verdictsIn } from './start/stages.ts';
import type { PlanView } from './view.ts';

/** Returns how many of the last verdicts are failures in a row. */
function inARow(view: PlanView): number {
  const words = inOrder([...view.verdicts.values()]).filter(
    ({ verdict }) => verdict === 'Done' || verdict === 'Failed',
  );
  const last = words.findLastIndex(({ verdict }) => verdict === 'Done');
  return words.length - 1 - last;
}

/** Reports whether one of its nodes was worked on in this run, with any outcome. */
function hasWorked(stage: StageNodes, { verdicts }: PlanView): boolean {
  return verdictsIn(stage, verdicts).some(
    ({ verdict }) => verdict === 'Done' || verdict === 'Failed',
  );
}

const remedy =
  'look at status.failures, then set them aside with drydock plan retry, or abort the plan';

/** Returns why no plan starts anything; undefined as long as they may. */
export function haltOfAll({ halted }: Pick<PlanSnapshot, 'halted'>): string | undefined {
  return halted === undefined ? undefined : `all plans are halted: ${halted}`;
}

/**
 * Returns why the plan starts nothing any more: more nodes have failed than are allowed, too many
 * in a row, or too many in its first stage. Everything in progress goes on. Undefined as long as
 * the plan may go on.
 */
export function haltedBy(view: PlanView): string | undefined {
  const { snapshot, failures, counts, stages } = view;
  const { maxFailures, consecutive, inFirstStage } = snapshot.plan.halt;
  const all = haltOfAll(snapshot);
  if (all !== undefined) return all;
  if (view.gateHalt !== undefined)
    return `gate ${view.gateHalt.gate} was false: ${view.gateHalt.message}: ${remedy}`;
  const allowed =
    maxFailures === undefined ? undefined : resolveAmount(maxFailures, counts.selected);
  if (allowed !== undefined && failures.length > allowed) {
    return `${failures.length} nodes have failed, and halt.maxFailures allows ${allowed}: ${remedy}`;
  }
  const row = inARow(view);
  if (consecutive !== undefined && consecutive > 0 && row >= consecutive)
    return `${row} nodes in a row have failed: ${remedy}`;
  const used = stages.filter(isUsed);
  // A stage that comes before it, and whose nodes come later, was not the first.
  const first = (used.find(stage => hasWorked(stage, view)) ?? used[0])?.stage.name;
  const early = failures.filter(({ stage }) => stage === first).length;
  if (inFirstStage !== undefined && inFirstStage > 0 && used.length > 1 && early >= inFirstStage) {
    return `${early} of stage ${first} have failed: ${remedy}`;
  }
  return undefined;
}
