import type { BlockerInfo } from '../../../drain/blockers/blocker.ts';
import { countOf, startCounter, updateCounter } from '../../../drain/drain-counter.ts';
import type { DrainBehavior } from '../../../drain/filters.ts';
import type { Pod } from '../../../pod/pod.ts';
import type { DrainProgress, ReconcileContext } from '../../reconcile-context.ts';
import { type DrainView, type Judged, stays } from './view.ts';
import type { VmAssessment } from './vms.ts';

function uidOf({ pod }: Judged): string {
  return pod.uid;
}

export function about({ namespace, name }: Pod): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace, name };
}

type Awaited = Extract<DrainBehavior, { readonly behavior: 'await' }>['reason'];

/** Blockers for pods that are left to end on their own. */
const awaited: Readonly<Record<Awaited, Pick<BlockerInfo, 'reason' | 'message'>>> = {
  AwaitingCompletion: {
    reason: 'AwaitingCompletion',
    message: 'is left to finish by itself, as the policy demands',
  },
  GoesWithItsVm: { reason: 'EarlierWave', message: 'is a volume of a VM, and goes with it' },
  WorkOfPlan: {
    reason: 'WorkOfPlan',
    message:
      'runs the work of a MaintenancePlan on this node, and ends within the time limit of that work',
  },
};

function behaviorBlockerInfo(pod: Pod, behavior: DrainBehavior): BlockerInfo | undefined {
  if (behavior.behavior === 'refuse')
    return {
      reason: behavior.reason,
      pod: about(pod),
      message: behavior.message,
      remedy: behavior.remedy,
    };
  if (behavior.behavior === 'await') return { pod: about(pod), ...awaited[behavior.reason] };
  return undefined;
}

type DrainAssessment = {
  readonly pods: readonly Pod[];
  readonly blockerInfos: ReadonlyMap<string, BlockerInfo>;
  readonly vms: VmAssessment;
};

export function progressAfter(
  view: DrainView,
  { pods, blockerInfos, vms }: DrainAssessment,
  context: ReconcileContext,
): DrainProgress {
  const { request } = view.progress;
  const left = view.behaviors.filter(one => !stays(one));
  const before =
    context.snapshot.memo.tallies.get(request.key) ?? startCounter(request.history, left.length);
  const tally = updateCounter(before, left.map(uidOf), view.behaviors.filter(stays).map(uidOf));
  const count = countOf(tally, left.length);
  const own = left.flatMap(
    ({ pod, behavior }) => behaviorBlockerInfo(pod, behavior) ?? blockerInfos.get(pod.key) ?? [],
  );
  return {
    tally,
    count,
    total: count.toEvict + pods.length - left.length,
    waiting: left.map(({ pod }) => about(pod)),
    blockerInfos: own,
    emptied: left.length === 0,
    complete: left.length === 0,
    vms: vms.statusesOf(view.behaviors),
    ...(vms.movedAt && { vmsMovedAt: vms.movedAt }),
  };
}
