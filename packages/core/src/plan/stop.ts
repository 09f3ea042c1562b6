import { resolveAmount } from '@drydock/apimachinery';
import { taintsIn } from '../hold/hold-record.ts';
import {
  conditionOf,
  isKeepingPods,
  isReady,
  type Node,
  removalTaint,
  taintId,
  unreadyTaint,
} from '../node/node.ts';
import type { Plan } from './plan.ts';
import type { PlanSnapshot, WaitReason } from './snapshot.ts';
import { inOrder, isUsed, type StageNodes, verdictsIn } from './start/stages.ts';
import { pauseNow, pauseText } from './unavailability.ts';
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
function haltOfAll({ halted }: Pick<PlanSnapshot, 'halted'>): string | undefined {
  return halted === undefined ? undefined : `all plans are halted: ${halted}`;
}

/**
 * Returns why the plan starts nothing any more: more nodes have failed than are allowed, too many
 * in a row, or too many in its first stage. Everything in progress goes on. Undefined as long as
 * the plan may go on.
 */
function haltedBy(view: PlanView): string | undefined {
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

/**
 * Reason why a plan begins nothing new: no node, no attempt of the work, no hook, no pod, no
 * machine. Everything in progress is followed to its end. Every start is checked here, and nowhere
 * else.
 */
export type Stop = {
  readonly kind: 'Deleting' | 'Aborted' | 'Halted' | 'Paused';
  /** Text for people, as a sentence of its own. */
  readonly message: string;
  /**
   * Reason why it is halted, even if something else stops it too: nodes whose work has not begun
   * are postponed.
   */
  readonly halted?: string;
  /** Time at which it ends on its own. */
  readonly until?: Temporal.Instant;
};

function haltStop(reason: string): Stop {
  return { kind: 'Halted', message: reason, halted: reason };
}

/** Returns what stops the plan now; undefined while it may begin something. */
export function stopOf(view: PlanView, now: Temporal.Instant): Stop | undefined {
  const { plan } = view.snapshot;
  const reason = haltedBy(view);
  const halted = reason === undefined ? {} : { halted: reason };
  if (plan.deleting) return { kind: 'Deleting', message: 'the plan is being deleted', ...halted };
  if (plan.aborted) return { kind: 'Aborted', message: 'the plan is aborted', ...halted };
  if (reason !== undefined) return haltStop(reason);
  const pause = pauseNow(plan, now);
  return (
    pause && {
      kind: 'Paused',
      message: pauseText(pause),
      ...(pause.until && { until: pause.until }),
    }
  );
}

/** Reports whether nothing begins any more. */
export function isEnding({ deleting, aborted }: Plan): boolean {
  return deleting || aborted;
}

/**
 * Returns the stop that hooks of a node wait for: the stop of the plan, but for a deleted plan only
 * a halt of all plans, because its own halts would end with a retry, and it has none any more.
 */
export function stopOfHooks(
  stop: Stop | undefined,
  snapshot: Pick<PlanSnapshot, 'halted'>,
): Stop | undefined {
  if (stop?.kind !== 'Deleting') return stop;
  const reason = haltOfAll(snapshot);
  return reason === undefined ? undefined : haltStop(reason);
}

/** Returns the reason of waiting work. */
export function stopWaiting(
  { kind, message, until }: Stop,
  what: string,
  node?: string,
): WaitReason {
  return {
    reason: kind,
    message: `${what} waits: ${message}`,
    ...(node !== undefined && { node }),
    ...(until && { until }),
  };
}

/**
 * A node is in service if pods can run on it: its kubelet reports, and no taint of a boot, an
 * autoscaler or a fencing agent keeps pods away.
 */

/** Reports whether its kubelet reports Ready and the node is not being deleted. */
export function isUp(node: Node): boolean {
  return !node.deleting && isReady(node);
}

/**
 * Returns a mark that changes if the node was unhealthy between two looks: another start, another
 * time of becoming Ready. No clocks are compared.
 */
export function livesOf(node: Node): string {
  return `${node.bootId ?? ''}/${conditionOf(node, 'Ready')?.lastTransitionTime ?? ''}`;
}

/**
 * Returns what keeps pods away beside cordons, as the rest of a sentence; undefined if the node is
 * healthy and not being deleted.
 */
export function unsoundness(node: Node): string | undefined {
  if (!isUp(node)) return 'is not Ready';
  const taint = removalTaint(node) ?? unreadyTaint(node);
  return taint && `has the taint ${taintId(taint)}, with which no pod can run on it`;
}

/** Taint of a cordon, which is reported as a cordon. */
const ofCordon = 'node.kubernetes.io/unschedulable:NoSchedule';

/** Returns the taints that keep pods from the node and do not belong to a hold. */
export function foreignTaints({ taints, holdRecord }: Node): readonly string[] {
  const ours = new Set([ofCordon, ...taintsIn(holdRecord)]);
  return taints.flatMap(taint =>
    isKeepingPods(taint) && !ours.has(taintId(taint)) ? [taintId(taint)] : [],
  );
}

/** Reports whether the node is healthy, pods can run on it, and it is not being deleted. */
export function isHealthy(node: Node): boolean {
  return unsoundness(node) === undefined;
}
